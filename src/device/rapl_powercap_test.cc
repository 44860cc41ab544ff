#include "device/rapl_powercap.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "device/temp_tree.h"

namespace perjoule {
namespace {

namespace fs = std::filesystem;

/// A powercap tree nested like the kernel's, with the flat links beside it.
class PowercapTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/perjoule-powercap-XXXXXX";
    root_ = ::mkdtemp(pattern);
    fs::permissions(root_, fs::perms(0755));
    roots_.sysfs = root_ + "/sys";
    roots_.procfs = root_ + "/proc";
    fs::create_directories(root_ + "/proc");
    fs::create_directories(root_ + "/sys/class/powercap");
    write("/proc/cpuinfo",
          "processor : 0\nvendor_id : GenuineIntel\nmodel name : Xeon\nphysical id : 0\n");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    std::ofstream(root_ + path) << text << "\n";
  }
  void zone(const std::string& folder, const std::string& name, const std::string& energy,
            const std::string& range = "262143328850") {
    const std::string type = folder.substr(0, folder.find(':'));
    std::string path = "/sys/devices/virtual/powercap/" + type;
    std::string so_far = type;
    for (std::size_t at = folder.find(':'); at != std::string::npos;
         at = folder.find(':', at + 1)) {
      const std::size_t end = std::min(folder.find(':', at + 1), folder.size());
      so_far = folder.substr(0, end);
      path += "/" + so_far;
    }
    fs::create_directories(root_ + path);
    const fs::path link = root_ + "/sys/class/powercap/" + folder;
    if (!fs::exists(link)) fs::create_symlink(root_ + path, link);
    write(path + "/name", name);
    write(path + "/energy_uj", energy);
    write(path + "/max_energy_range_uj", range);
  }
  std::string zone_file(const std::string& folder, const std::string& file) {
    return "/sys/class/powercap/" + folder + "/" + file;
  }

  std::string root_;
  Roots roots_;
};

TEST_F(PowercapTest, ZonesBecomeSourcesAndOverlapsAreKnown) {
  zone("intel-rapl:0", "package-0", "1000");
  zone("intel-rapl:0:0", "core", "600");
  zone("intel-rapl:0:1", "uncore", "5");
  zone("intel-rapl:0:2", "dram", "300", "65712999613");
  zone("intel-rapl:1", "psys", "4000");
  const Discovered found = discover_rapl_powercap(roots_);
  EXPECT_TRUE(found.problems.empty());
  ASSERT_EQ(found.devices.size(), 1U);
  std::vector<std::string> summed;
  for (Source* source : found.devices[0]->sources()) {
    if (source->info().overlaps.empty()) summed.push_back(source->info().id);
  }
  // psys contains the package and core lies within it; dram is beside it.
  EXPECT_EQ(summed, (std::vector<std::string>{"cpu:0/package", "cpu:0/dram"}));
  EXPECT_EQ(found.devices[0]->sources().size(), 5U);
  EXPECT_EQ(found.devices[0]->sources()[3]->info().modulus_micro, 65712999613U + 15U);
  EXPECT_EQ(found.devices[0]->sources()[0]->read().micro, 1000U);
}

TEST_F(PowercapTest, TheMmioControlTypeRepeatsThePackageAndIsLeftOut) {
  zone("intel-rapl:0", "package-0", "1000");
  zone("intel-rapl-mmio:0", "package-0", "1000");
  EXPECT_EQ(discover_rapl_powercap(roots_).devices[0]->sources().size(), 1U);
}

TEST_F(PowercapTest, NumbersOfAnyLengthAndDies) {
  EXPECT_EQ(parse_rapl_zone_name("package-15").package, 15);
  const RaplZoneName die = parse_rapl_zone_name("package-12-die-34");
  EXPECT_EQ(die.kind, RaplZoneName::Kind::kDie);
  EXPECT_EQ(die.package, 12);
  EXPECT_EQ(die.die, 34);
  for (const char* odd :
       {"package-", "package-x", "package-1-die", "package-1-core-2", "", "package--1"}) {
    EXPECT_EQ(parse_rapl_zone_name(odd).kind, RaplZoneName::Kind::kOther) << odd;
  }
  zone("intel-rapl:0", "package-0-die-0", "7");
  zone("intel-rapl:1", "package-0-die-1", "8");
  const Discovered found = discover_rapl_powercap(roots_);
  ASSERT_EQ(found.devices.size(), 1U);
  ASSERT_EQ(found.devices[0]->sources().size(), 2U);
  EXPECT_TRUE(found.devices[0]->sources()[1]->info().overlaps.empty());
}

TEST_F(PowercapTest, AnUnreadableZoneIsAProblemWithTheRemedyNeverZero) {
  zone("intel-rapl:0", "package-0", "1000");
  fs::permissions(root_ + zone_file("intel-rapl:0", "energy_uj"), fs::perms::none);
  const OrdinaryUser nobody;
  const Discovered found = discover_rapl_powercap(roots_);
  EXPECT_TRUE(found.devices[0]->sources().empty());
  ASSERT_EQ(found.problems.size(), 1U);
  EXPECT_EQ(found.problems[0].error.code, ErrorCode::kPermissionDenied);
  EXPECT_NE(found.problems[0].error.remedy.find("doctor --fix"), std::string::npos);
}

TEST_F(PowercapTest, AZoneThatVanishesMidReadIsAnErrorCode) {
  zone("intel-rapl:0", "package-0", "1000");
  const Discovered found = discover_rapl_powercap(roots_);
  std::ofstream(root_ + zone_file("intel-rapl:0", "energy_uj"), std::ios::trunc);
  EXPECT_EQ(found.devices[0]->sources()[0]->read().code, ErrorCode::kDataLoss);
}

TEST_F(PowercapTest, WithoutARangeAWrapCannotBeToldAndIsSaid) {
  zone("intel-rapl:0", "package-0", "1000");
  fs::remove(root_ + zone_file("intel-rapl:0", "max_energy_range_uj"));
  const Discovered found = discover_rapl_powercap(roots_);
  ASSERT_EQ(found.problems.size(), 1U);
  EXPECT_EQ(found.devices[0]->sources()[0]->info().modulus_micro, 0U);
}

TEST_F(PowercapTest, LimitsAreKnobs) {
  zone("intel-rapl:0", "package-0", "1000");
  const std::string folder = "/sys/class/powercap/intel-rapl:0/";
  write(folder + "constraint_0_name", "long_term");
  write(folder + "constraint_0_power_limit_uw", "150000000");
  write(folder + "constraint_0_max_power_uw", "150000000");
  const Discovered found = discover_rapl_powercap(roots_);
  ASSERT_EQ(found.devices[0]->knobs().size(), 1U);
  Knob& limit = *found.devices[0]->knobs()[0];
  EXPECT_EQ(*limit.get(), "150 W");
  ASSERT_TRUE(limit.set("90 W"));
  EXPECT_EQ(*limit.get(), "90 W");
  EXPECT_EQ(limit.set("900 W").error().code, ErrorCode::kOutOfRange);
}
TEST_F(PowercapTest, AnAmdCounterIsTrustedHalfAsMuch) {
  // On Zen it is a model of activity, and was seen above the power at the wall (likwid#241).
  zone("intel-rapl:0", "package-0", "1000");
  EXPECT_DOUBLE_EQ(discover_rapl_powercap(roots_).devices.at(0)->sources().at(0)->info().gain,
                   0.05);
  write("/proc/cpuinfo",
        "processor : 0\nvendor_id : AuthenticAMD\nmodel name : EPYC\nphysical id : 0\n");
  EXPECT_DOUBLE_EQ(discover_rapl_powercap(roots_).devices.at(0)->sources().at(0)->info().gain,
                   0.10);
}
}  // namespace
}  // namespace perjoule
