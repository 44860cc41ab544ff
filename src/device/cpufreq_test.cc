#include "device/cpufreq.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "device/discovery.h"
#include "device/journal.h"
#include "device/temp_tree.h"

namespace perjoule {
namespace {

/// Two packages: policies 0 and 2 on the first, 10 on the second.
class CpufreqTest : public testing::Test {
 protected:
  CpufreqTest() : roots_(tree_.roots()) {
    policy(0, 0);
    policy(2, 0);
    policy(10, 1);
  }
  void policy(int number, int package) const {
    const std::string folder = path(number);
    tree_.write(folder + "scaling_governor", "powersave");
    tree_.write(folder + "scaling_available_governors", "performance powersave");
    tree_.write(folder + "scaling_max_freq", "3900000");
    tree_.write(folder + "cpuinfo_min_freq", "800000");
    tree_.write(folder + "cpuinfo_max_freq", "3900000");
    tree_.write(
        "sys/devices/system/cpu/cpu" + std::to_string(number) + "/topology/physical_package_id",
        std::to_string(package));
  }
  static std::string path(int number) {
    return "sys/devices/system/cpu/cpufreq/policy" + std::to_string(number) + "/";
  }
  std::string now(int number, const std::string& file) const {
    return read_attribute(tree_ / (path(number) + file)).value_or("?");
  }
  static Knob& knob(const Discovered& found, const std::string& id) {
    for (const auto& device : found.devices) {
      for (Knob* one : device->knobs()) {
        if (one->info().id == id) return *one;
      }
    }
    ADD_FAILURE() << "no knob " << id;
    std::abort();
  }
  TempTree tree_;
  Roots roots_;
};

TEST_F(CpufreqTest, OneKnobSetsAllProcessorsOfItsPackage) {
  const Discovered found = discover_cpufreq(roots_);
  ASSERT_EQ(found.devices.size(), 2U);
  Knob& governor = knob(found, "cpu:0/governor");
  EXPECT_EQ(*governor.get(), "powersave");
  ASSERT_TRUE(governor.set("performance"));
  EXPECT_EQ(now(0, "scaling_governor"), "performance");
  EXPECT_EQ(now(2, "scaling_governor"), "performance");
  EXPECT_EQ(now(10, "scaling_governor"), "powersave");
  const Outcome odd = governor.set("turbo");
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(odd.error().remedy.find("performance, powersave"), std::string::npos);
}

TEST_F(CpufreqTest, TheClockIsInMegahertzAndHasARange) {
  const Discovered found = discover_cpufreq(roots_);
  Knob& clock = knob(found, "cpu:1/clock");
  EXPECT_EQ(*clock.get(), "3900 MHz");
  ASSERT_TRUE(clock.set("2400 MHz"));
  EXPECT_EQ(now(10, "scaling_max_freq"), "2400000");
  EXPECT_EQ(clock.set("5000 MHz").error().code, ErrorCode::kOutOfRange);
}

TEST_F(CpufreqTest, AMixedStateIsPutBackAsItWas) {
  tree_.write(path(2) + "scaling_governor", "performance");
  Inventory machine;
  machine.devices = discover_cpufreq(roots_).devices;
  Knob* governor = machine.knobs().at(0);
  EXPECT_EQ(*governor->get(), "0=powersave, 2=performance");
  {
    KnobJournal journal = *KnobJournal::open(tree_ / "journal", machine);
    ASSERT_TRUE(journal.turn(*governor, "performance"));
    EXPECT_EQ(now(0, "scaling_governor"), "performance");
  }
  EXPECT_EQ(now(0, "scaling_governor"), "powersave");
  EXPECT_EQ(now(2, "scaling_governor"), "performance");
  for (const char* bad : {"0=powersave", "0=powersave, 7=performance", "="})
    EXPECT_FALSE(governor->set(bad)) << bad;
}

TEST_F(CpufreqTest, PermissionDeniedChangesNothingAndSaysRoot) {
  tree_.deny(path(2) + "scaling_governor");
  ::chmod((tree_ / (path(2) + "scaling_governor")).c_str(), 0444);
  ::chmod((tree_ / (path(0) + "scaling_governor")).c_str(), 0666);
  const OrdinaryUser nobody;
  const Discovered found = discover_cpufreq(roots_);
  const Outcome set = knob(found, "cpu:0/governor").set("performance");
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, ErrorCode::kPermissionDenied);
  EXPECT_NE(set.error().remedy.find("root"), std::string::npos);
  EXPECT_EQ(now(0, "scaling_governor"), "powersave");  // was set, and went back
}

TEST_F(CpufreqTest, APolicyThatVanishesIsAnError) {
  const Discovered found = discover_cpufreq(roots_);
  tree_.remove(path(2));
  EXPECT_FALSE(knob(found, "cpu:0/governor").get());
  EXPECT_FALSE(knob(found, "cpu:0/governor").set("performance"));
  EXPECT_EQ(now(0, "scaling_governor"), "powersave");
}

TEST_F(CpufreqTest, AMachineWithoutCpufreqHasNoKnobs) {
  tree_.remove("sys/devices/system/cpu/cpufreq");
  EXPECT_TRUE(discover_cpufreq(roots_).devices.empty());
}
}  // namespace
}  // namespace perjoule
