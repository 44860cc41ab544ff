#include "meter/power_view.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "device/temp_tree.h"
#include "meter/fake_source.h"

namespace perjoule {
namespace {

/// A device with one source and processes to order.
class FakeDevice final : public Device {
 public:
  FakeDevice(DeviceKind kind, const std::string& id, VirtualClock& clock, double watts)
      : source_(fake_counter(id, 0), clock, [watts](double) { return watts; }) {
    info_.id = id;
    info_.kind = kind;
  }
  const DeviceInfo& info() const override { return info_; }
  std::vector<Source*> sources() override { return {&source_}; }
  Result<std::vector<DeviceProcess>> processes() override { return held; }
  std::vector<DeviceProcess> held;

 private:
  DeviceInfo info_;
  FakeSource source_;
};

class PowerViewTest : public testing::Test {
 protected:
  void SetUp() override {
    auto cpu = std::make_unique<FakeDevice>(DeviceKind::kCpu, "cpu:0", clock_, 80);
    auto gpu = std::make_unique<FakeDevice>(DeviceKind::kGpu, "gpu:a", clock_, 300);
    gpu_ = gpu.get();
    machine_.devices.push_back(std::move(cpu));
    machine_.devices.push_back(std::move(gpu));
  }
  void set_cpu_time(int pid, const char* name, double seconds) {
    const auto ticks = static_cast<long>(seconds * static_cast<double>(::sysconf(_SC_CLK_TCK)));
    procfs_.write(std::to_string(pid) + "/stat",
                  std::to_string(pid) + " (" + name + ") S 1 1 1 0 -1 0 0 0 0 0 " +
                      std::to_string(ticks) + " 0 0 0 20 0 1 0 77 0 0");
  }

  TempTree procfs_;
  VirtualClock clock_{Instant{1'000'000'000}};
  Inventory machine_;
  FakeDevice* gpu_ = nullptr;
};

TEST_F(PowerViewTest, SharesOfEachDeviceAddUpToItsPower) {
  set_cpu_time(10, "busy", 5);
  set_cpu_time(11, "less", 1);
  Meter meter(machine_.sources(), clock_);
  PowerView view(machine_, meter, procfs_.path());
  clock_.advance(Seconds(2));
  set_cpu_time(10, "busy", 6.5);
  set_cpu_time(11, "less", 1.5);
  gpu_->held = {{10, 1 << 20, 0.6}, {12, 1 << 20, 0.2}};
  const auto picture = view.refresh();
  ASSERT_TRUE(picture) << picture.error().text();
  EXPECT_NEAR(picture->total.value(), 380, 1e-6);
  Watts sum = picture->unattributed;
  for (const ProcessPower& one : picture->processes) sum += one.power();
  EXPECT_NEAR(sum.value(), 380, 1e-6);
  ASSERT_EQ(picture->processes.size(), 3U);
  EXPECT_EQ(picture->processes[0].name, "busy");
  EXPECT_NEAR(picture->processes[0].cpu_power.value(), 60, 1e-6);
  EXPECT_NEAR(picture->processes[0].gpu_power.value(), 225, 1e-6);
  EXPECT_NEAR(picture->processes[0].cpu_share, 0.75, 1e-6);
}

TEST_F(PowerViewTest, AProcessOfAnotherPidNamespaceIsShownAndGivenNoName) {
  set_cpu_time(10, "ours", 5);
  Meter meter(machine_.sources(), clock_);
  PowerView view(machine_, meter, procfs_.path());
  clock_.advance(Seconds(1));
  set_cpu_time(10, "ours", 5.5);
  gpu_->held = {{10, 1 << 20, 0.25}, {3'000'012, 1 << 20, 0.75}};
  const auto picture = view.refresh();
  ASSERT_EQ(picture->processes.size(), 2U);
  EXPECT_EQ(picture->processes[0].pid, 3'000'012);
  EXPECT_EQ(picture->processes[0].name, "(not visible here)");
  EXPECT_NEAR(picture->processes[0].gpu_power.value(), 225, 1e-6);
  EXPECT_EQ(picture->processes[1].name, "ours");
}

TEST_F(PowerViewTest, WhatNobodyKeptBusyIsUnattributed) {
  Meter meter(machine_.sources(), clock_);
  PowerView view(machine_, meter, procfs_.path());
  clock_.advance(Seconds(1));
  const auto picture = view.refresh();
  EXPECT_NEAR(picture->unattributed.value(), 380, 1e-6);
  EXPECT_TRUE(picture->processes.empty());
}

TEST_F(PowerViewTest, EnergyGathersOverRefreshes) {
  Meter meter(machine_.sources(), clock_);
  PowerView view(machine_, meter, procfs_.path());
  for (int i = 0; i < 3; ++i) {
    clock_.advance(Seconds(1));
    ASSERT_TRUE(view.refresh());
  }
  clock_.advance(Seconds(1));
  EXPECT_NEAR(view.refresh()->devices[1].so_far.value(), 1200, 1e-3);
}
}  // namespace
}  // namespace perjoule
