#include "device/hwmon.h"

#include <gtest/gtest.h>

#include "device/discovery.h"
#include "device/temp_tree.h"

namespace perjoule {
namespace {

class HwmonTest : public testing::Test {
 protected:
  HwmonTest() : roots_(tree_.roots()) {
    tree_.write("proc/cpuinfo", "processor : 0\nmodel name : Neoverse-V2");
  }
  void chip(int number, const std::string& name, const std::string& pci = "") const {
    tree_.write(folder(number) + "/name", name);
    if (pci.empty()) return;
    tree_.write("sys/devices/pci0000:00/" + pci + "/device", "0x74a1");
    tree_.link(folder(number) + "/device", tree_ / ("sys/devices/pci0000:00/" + pci));
    tree_.link("sys/bus/pci/devices/" + pci, tree_ / ("sys/devices/pci0000:00/" + pci));
  }
  void set(int number, const std::string& file, const std::string& text) const {
    tree_.write(folder(number) + "/" + file, text);
  }
  static std::string folder(int number) { return "sys/class/hwmon/hwmon" + std::to_string(number); }

  TempTree tree_;
  Roots roots_;
};

TEST_F(HwmonTest, AnAmdGpuHasPowerAndACap) {
  chip(0, "nvme");
  chip(1, "amdgpu", "0000:03:00.0");
  set(1, "power1_average", "35000000");
  set(1, "power1_input", "36000000");
  set(1, "power1_cap", "300000000");
  set(1, "power1_cap_min", "100000000");
  set(1, "power1_cap_max", "400000000");
  set(1, "power1_cap_default", "350000000");
  tree_.write("sys/devices/pci0000:00/0000:03:00.0/unique_id", "18f68e602b8a790f");
  tree_.write("sys/devices/pci0000:00/0000:03:00.0/gpu_busy_percent", "40");
  const Discovered found = discover_hwmon(roots_);
  EXPECT_TRUE(found.problems.empty());
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_EQ(found.devices[0]->info().id, "gpu:GPU-18f68e602b8a790f");
  EXPECT_EQ(found.devices[0]->info().pci, "0000:03:00.0");
  const auto sources = found.devices[0]->sources();
  ASSERT_EQ(sources.size(), 2U);
  EXPECT_EQ(sources[0]->info().kind, SourceKind::kPowerGauge);
  EXPECT_EQ(sources[0]->read().micro, 35'000'000U);
  EXPECT_DOUBLE_EQ(sources[0]->busy(), 0.4);
  EXPECT_EQ(sources[1]->info().overlaps, sources[0]->info().id);
  Knob& cap = *found.devices[0]->knobs().at(0);
  EXPECT_EQ(*cap.get(), "300 W");
  EXPECT_EQ(cap.info().default_value, "350 W");
  EXPECT_EQ(cap.set("90 W").error().code, ErrorCode::kOutOfRange);
  EXPECT_TRUE(cap.set("200 W"));
  EXPECT_EQ(*cap.get(), "200 W");
}

TEST_F(HwmonTest, AChipWithOnlyOneOfAverageAndInputIsMeasured) {
  chip(1, "amdgpu", "0000:03:00.0");
  set(1, "power1_input", "36000000");
  const Discovered found = discover_hwmon(roots_);
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_EQ(found.devices[0]->sources().at(0)->info().id, "gpu:0000:03:00.0");
  EXPECT_EQ(found.devices[0]->sources()[0]->info().overlaps, "");
}

TEST_F(HwmonTest, AGpuThatALibraryServesIsLeftToIt) {
  chip(1, "amdgpu", "0000:03:00.0");
  set(1, "power1_average", "35000000");
  EXPECT_TRUE(discover_hwmon(roots_, {{"0000:03:00.0"}, {}, ""}).devices.empty());
}

TEST_F(HwmonTest, AnUnknownGpuMetricsTableIsSaidAndPowerIsStillRead) {
  chip(1, "amdgpu", "0000:03:00.0");
  set(1, "power1_average", "35000000");
  tree_.write_bytes("sys/devices/pci0000:00/0000:03:00.0/gpu_metrics",
                    std::string("\x80\x00\x03\x00", 4) + std::string(124, '\0'));
  const Discovered found = discover_hwmon(roots_);
  ASSERT_EQ(found.problems.size(), 1U);
  EXPECT_EQ(found.problems[0].error.code, ErrorCode::kNotSupported);
  EXPECT_EQ(found.devices.at(0)->sources().size(), 1U);
}

TEST_F(HwmonTest, AnIntelCardIsMeasuredByEnergyAndCritIsNoLimit) {
  chip(2, "xe", "0000:18:00.0");
  set(2, "energy1_input", "5000000");
  set(2, "energy1_label", "card");
  set(2, "energy2_input", "3000000");
  set(2, "energy2_label", "pkg");
  set(2, "power1_crit", "400000000");
  set(2, "power1_max", "190000000");
  set(2, "power1_rated_max", "200000000");
  const Discovered found = discover_hwmon(roots_);
  ASSERT_EQ(found.devices.size(), 1U);
  const auto sources = found.devices[0]->sources();
  ASSERT_EQ(sources.size(), 2U);
  EXPECT_EQ(sources[0]->info().kind, SourceKind::kEnergyCounter);
  EXPECT_EQ(sources[0]->info().overlaps, "");
  EXPECT_EQ(sources[1]->info().scope, "pkg");
  EXPECT_EQ(sources[1]->info().overlaps, sources[0]->info().id);
  ASSERT_EQ(found.devices[0]->knobs().size(), 1U);
  EXPECT_EQ(found.devices[0]->knobs()[0]->info().maximum, 200);  // nvtop#493: not 400
}

TEST_F(HwmonTest, AnXeWithOnlyTheChipsCounterSumsThat) {
  chip(2, "xe", "0000:18:00.0");
  set(2, "energy2_input", "3000000");
  const Discovered found = discover_hwmon(roots_);
  EXPECT_EQ(found.devices.at(0)->sources().at(0)->info().overlaps, "");
}

TEST_F(HwmonTest, GraceIsSummedAndItsPartsAndModuleAreNot) {
  const char* kLabels[] = {"Module Power Socket 1", "Grace Power Socket 1", "CPU Power Socket 1",
                           "SysIO Power Socket 1"};
  for (int i = 0; i < 4; ++i) {
    chip(i, "power_meter");
    set(i, "power1_average", std::to_string(400 - 100 * i) + "000000");
    set(i, "power1_oem_info", kLabels[i]);
    set(i, "power1_average_interval", "50");
  }
  const Discovered found = discover_hwmon(roots_);
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_EQ(found.devices[0]->info().id, "cpu:1");
  std::vector<std::string> summed;
  for (Source* source : found.devices[0]->sources()) {
    EXPECT_DOUBLE_EQ(source->info().averaging.value(), 0.05);
    if (source->info().overlaps.empty()) summed.push_back(source->info().id);
  }
  EXPECT_EQ(summed, std::vector<std::string>{"cpu:1/grace"});
  // zeus PR#172: where the GPU's counter is the module's, nothing of the CPU is added to it.
  for (const auto& device : discover_hwmon(roots_, {{}, {}, "gpu:GPU-1"}).devices) {
    for (Source* source : device->sources()) EXPECT_NE(source->info().overlaps, "");
  }
}

TEST_F(HwmonTest, AnAcpiMeterWithoutANameIsTheNodes) {
  chip(0, "power_meter");
  set(0, "power1_average", "412000000");
  const Discovered found = discover_hwmon(roots_);
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_EQ(found.devices[0]->info().kind, DeviceKind::kNode);
  const SourceInfo& info = found.devices[0]->sources().at(0)->info();
  EXPECT_EQ(info.boundary, Boundary::kNode);
  EXPECT_NE(info.overlaps, "");  // it contains the CPU and the GPUs
}

TEST_F(HwmonTest, AmdEnergyGivesSocketsThatPowercapDoesNot) {
  chip(0, "amd_energy");
  set(0, "energy1_label", "Ecore000");
  set(0, "energy1_input", "100");
  set(0, "energy2_label", "Esocket1");
  set(0, "energy2_input", "777");
  const Discovered found = discover_hwmon(roots_);
  ASSERT_EQ(found.devices.size(), 1U);
  ASSERT_EQ(found.devices[0]->sources().size(), 1U);
  EXPECT_EQ(found.devices[0]->sources()[0]->info().id, "cpu:1/package");
  EXPECT_EQ(found.devices[0]->sources()[0]->read().micro, 777U);
  EXPECT_TRUE(discover_hwmon(roots_, {{}, {"cpu:1/package"}, ""}).devices.empty());
  set(0, "energy2_input", "12");  // the driver was loaded anew: the meter tells it from a wrap
  EXPECT_EQ(found.devices[0]->sources()[0]->read().micro, 12U);
}

TEST_F(HwmonTest, PermissionDeniedIsAProblemWithTheRemedy) {
  chip(0, "amd_energy");
  set(0, "energy1_label", "Esocket0");
  set(0, "energy1_input", "777");
  chip(1, "amdgpu", "0000:03:00.0");
  set(1, "power1_average", "35000000");
  tree_.deny(folder(0) + "/energy1_input");
  tree_.deny(folder(1) + "/power1_average");
  const OrdinaryUser nobody;
  const Discovered found = discover_hwmon(roots_);
  EXPECT_TRUE(found.devices.empty());
  ASSERT_EQ(found.problems.size(), 2U);
  for (const Problem& problem : found.problems) {
    EXPECT_EQ(problem.error.code, ErrorCode::kPermissionDenied);
    EXPECT_FALSE(problem.error.remedy.empty());
  }
}

TEST_F(HwmonTest, AChipThatVanishesMidReadIsAnErrorCode) {
  chip(0, "power_meter");
  set(0, "power1_average", "412000000");
  const Discovered found = discover_hwmon(roots_);
  tree_.write_bytes(folder(0) + "/power1_average", "");
  EXPECT_EQ(found.devices.at(0)->sources().at(0)->read().code, ErrorCode::kDataLoss);
}

TEST(HwmonLabel, OnlyWholeLabelsAreTaken) {
  EXPECT_EQ(parse_hwmon_label("Grace Power Socket 12").socket, 12);
  EXPECT_EQ(parse_hwmon_label("Esocket3").kind, HwmonLabel::Kind::kSocket);
  for (const char* odd : {"", "Esocket", "Esocket-1", "Grace Power Socket", "Grace Power Socket x",
                          "Fan Power Socket 0", "Ecore000", "Module Power Socket 99999999999"}) {
    EXPECT_EQ(parse_hwmon_label(odd).kind, HwmonLabel::Kind::kOther) << odd;
  }
}
}  // namespace
}  // namespace perjoule
