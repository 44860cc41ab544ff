#include "device/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "device/plain_device.h"
#include "device/rapl_permission.h"
#include "device/temp_tree.h"

namespace perjoule {
namespace {

using testing::HasSubstr;
using Weight = Finding::Weight;

class DiagnosisTest : public testing::Test {
 protected:
  DiagnosisTest() : roots_(tree_.roots()) {
    tree_.write("proc/cpuinfo", "processor : 0\nvendor_id : GenuineIntel\nmodel name : Xeon");
    options_.journal_folder = tree_ / "journal";
    options_.root = true;
  }
  void zone() const {
    tree_.write("sys/class/powercap/intel-rapl:0/name", "package-0");
    tree_.write("sys/class/powercap/intel-rapl:0/energy_uj", "1");
    tree_.write("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850");
  }
  std::vector<Finding> findings() {
    const VirtualClock clock;
    return diagnose(discover(roots_, clock), roots_, options_);
  }
  /// The finding on that subject; an empty one when there is none.
  static Finding on(const std::vector<Finding>& all, const std::string& subject) {
    for (const Finding& finding : all) {
      if (finding.subject == subject) return finding;
    }
    return {};
  }

  TempTree tree_;
  Roots roots_;
  DiagnosisOptions options_;
};

TEST_F(DiagnosisTest, AMachineWithACounterAndAStoreIsFine) {
  zone();
  const auto all = findings();
  EXPECT_FALSE(is_hindered(all));
  EXPECT_EQ(on(all, "CPU energy").weight, Weight::kFine);
}

TEST_F(DiagnosisTest, AVirtualMachineIsSaidToBeOne) {
  tree_.write("proc/cpuinfo", "processor : 0\nmodel name : Xeon\nflags : fpu hypervisor sse");
  tree_.write("proc/stat", "cpu  1 0 0 1 0 0 0 0 0 0");
  const auto all = findings();
  EXPECT_TRUE(is_hindered(all));
  EXPECT_THAT(on(all, "CPU energy").text, HasSubstr("virtual machine"));
  EXPECT_THAT(on(all, "CPU energy").text, HasSubstr("estimated"));
}

TEST_F(DiagnosisTest, InAVirtualMachineClosedCountersAreClosedAndNotAbsent) {
  zone();
  tree_.write("proc/cpuinfo", "processor : 0\nmodel name : Xeon\nflags : fpu hypervisor sse");
  tree_.deny("sys/class/powercap/intel-rapl:0/energy_uj");
  options_.root = false;
  const OrdinaryUser nobody;
  const auto all = findings();
  EXPECT_THAT(on(all, "cpu:0/package").remedy, HasSubstr("doctor --fix"));
  for (const Finding& finding : all) EXPECT_THAT(finding.text, Not(HasSubstr("is not given")));
}

TEST_F(DiagnosisTest, ClosedCountersComeWithBothRemedies) {
  zone();
  tree_.deny("sys/class/powercap/intel-rapl:0/energy_uj");
  tree_.write("proc/sys/kernel/perf_event_paranoid", "2");
  tree_.write("sys/bus/event_source/devices/power/type", "23");
  options_.root = false;
  const OrdinaryUser nobody;
  const auto all = findings();
  EXPECT_TRUE(is_hindered(all));
  EXPECT_THAT(on(all, "cpu:0/package").remedy, HasSubstr("doctor --fix"));
  EXPECT_THAT(on(all, "perf events").text, HasSubstr("paranoid is 2"));
  // The closed files are the reason: the driver is there.
  EXPECT_EQ(on(all, "CPU energy").subject, "");
}

TEST_F(DiagnosisTest, NoDriverIsSaid) {
  EXPECT_THAT(on(findings(), "CPU energy").remedy, HasSubstr("modprobe"));
}

TEST_F(DiagnosisTest, PersistenceAndRootForSettingAreNotes) {
  Inventory machine;
  DeviceInfo info;
  info.id = "gpu:GPU-1";
  info.kind = DeviceKind::kGpu;
  info.persistence = false;
  machine.devices.push_back(std::make_unique<PlainDevice>(info));
  const Finding lost = on(diagnose(machine, roots_, options_), "gpu:GPU-1");
  EXPECT_EQ(lost.weight, Weight::kNote);
  EXPECT_THAT(lost.text, HasSubstr("lost"));
  zone();
  tree_.write("sys/class/powercap/intel-rapl:0/constraint_0_name", "long_term");
  tree_.write("sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw", "100000000");
  options_.root = false;
  const auto all = findings();
  EXPECT_EQ(on(all, "settings").weight, Weight::kNote);
  EXPECT_FALSE(is_hindered(all));
}

TEST_F(DiagnosisTest, ADeadEntryOfTheJournalIsFound) {
  zone();
  tree_.write("journal/cpu:0@power-limit-0.json",
              R"({"schema":"perjoule.knob.v1","knob":"cpu:0/power-limit-0","original":"150 W",)"
              R"("pid":999999,"start_ticks":1,"boot_id":"other"})");
  const Finding left = on(findings(), "cpu:0/power-limit-0");
  EXPECT_EQ(left.weight, Weight::kNote);  // of another boot, which has put it back
  EXPECT_THAT(left.text, HasSubstr("150 W"));
}

TEST_F(DiagnosisTest, AKnobHeldOnAnotherHostIsANoteAndNoHindrance) {
  zone();
  tree_.write("journal/cpu:0@power-limit-0.json",
              R"({"schema":"perjoule.knob.v1","knob":"cpu:0/power-limit-0","original":"150 W",)"
              R"("pid":999999,"start_ticks":1,"boot_id":"other","host":"another-host"})");
  const auto all = findings();
  const Finding held = on(all, "cpu:0/power-limit-0");
  EXPECT_EQ(held.weight, Weight::kNote);
  EXPECT_THAT(held.text, HasSubstr("another container or host, found at 150 W"));
  EXPECT_FALSE(is_hindered(all));
}

TEST(RaplPermission, TheRuleNamesTheGroupAndWhatItCosts) {
  const TempTree tree;
  const auto done = open_rapl_to_group(tree / "etc", "power");
  ASSERT_TRUE(done) << done.error().text();
  ASSERT_EQ(done->written.size(), 2U);
  EXPECT_EQ(done->written[1], tree / "etc/udev/rules.d/70-perjoule-rapl.rules");
  const std::string rule = *read_file(done->written[1]);
  EXPECT_THAT(rule, HasSubstr("/bin/chgrp power /sys%p/energy_uj"));
  EXPECT_THAT(rule, HasSubstr("CVE-2020-8694"));
  EXPECT_THAT(rule, testing::Not(HasSubstr("o+r")));
  EXPECT_THAT(*read_file(done->written[0]), HasSubstr("g power - -"));
  EXPECT_FALSE(done->next.empty());
}

TEST(RaplPermission, ANameThatIsNoGroupsIsRefused) {
  const TempTree tree;
  for (const char* bad : {"", "Power", "a b", "a\"; rm", "-x", "a/b", "$(id)"}) {
    const auto done = open_rapl_to_group(tree / "etc", bad);
    ASSERT_FALSE(done) << bad;
    EXPECT_EQ(done.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_FALSE(path_exists(tree / "etc"));
}

TEST(RaplPermission, AnOrdinaryUserIsToldToBeRoot) {
  const TempTree tree;
  tree.write("etc/hosts", "");
  ::chmod((tree / "etc").c_str(), 0555);
  const OrdinaryUser nobody;
  const auto done = open_rapl_to_group(tree / "etc", "power");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kPermissionDenied);
  EXPECT_THAT(done.error().remedy, HasSubstr("sudo"));
}
}  // namespace
}  // namespace perjoule
