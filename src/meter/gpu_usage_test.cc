#include "meter/gpu_usage.h"

#include <gtest/gtest.h>

#include "device/temp_tree.h"

namespace perjoule {
namespace {

class HeldGpu final : public Device {
 public:
  HeldGpu() { info_.id = "gpu:a"; }
  const DeviceInfo& info() const override { return info_; }
  std::vector<Source*> sources() override { return {}; }
  Result<std::vector<DeviceProcess>> processes() override {
    if (silent) return Error::not_supported("no list");
    return held;
  }
  std::vector<DeviceProcess> held;
  bool silent = false;

 private:
  DeviceInfo info_;
};

class GpuUsageTest : public testing::Test {
 protected:
  void process(int pid, int parent, int start = 7) {
    procfs_.write(std::to_string(pid) + "/stat",
                  std::to_string(pid) + " (p) S " + std::to_string(parent) +
                      " 1 1 0 -1 0 0 0 0 0 1 0 0 0 20 0 1 0 " + std::to_string(start) + " 0 0");
  }
  void look(double seconds) {
    usage_.look(100, Instant{static_cast<std::int64_t>((1 + seconds) * 1e9)});
  }
  const DeviceUsage& used() { return usage_.usage().front(); }

  TempTree procfs_;
  HeldGpu gpu_;
  GpuUsage usage_{{&gpu_}, procfs_.path()};
};

TEST_F(GpuUsageTest, TimeGoesByTheDriversShares) {
  process(100, 1);
  process(101, 100);
  process(50, 1);
  look(0);
  gpu_.held = {{101, 0, 0.6}, {50, 0, 0.2}};
  look(1);
  gpu_.held = {{101, 0, 0.5}};
  look(2);
  EXPECT_NEAR(used().mine.value(), 1.75, 1e-9);
  EXPECT_NEAR(used().others.value(), 0.25, 1e-9);
  EXPECT_EQ(used().strangers, std::set<std::int64_t>{50});
  EXPECT_EQ(used().looks, 2);
}

TEST_F(GpuUsageTest, HoldersCountAlikeWhereTheDriverTellsNoShares) {
  process(100, 1);
  look(0);
  gpu_.held = {{100, 0, 0}, {50, 0, 0}, {51, 0, 0}};
  look(3);
  EXPECT_NEAR(used().mine.value(), 1, 1e-9);
  EXPECT_NEAR(used().others.value(), 2, 1e-9);
}

TEST_F(GpuUsageTest, AnOrphanStaysOursAndALaterProcessOfItsPidIsNot) {
  process(100, 1);
  process(101, 100);
  look(0);
  process(101, 1);  // its parent has ended
  gpu_.held = {{101, 0, 0.5}};
  look(1);
  EXPECT_NEAR(used().mine.value(), 1, 1e-9);
  process(101, 1, 9);  // another one
  look(2);
  EXPECT_NEAR(used().mine.value(), 1, 1e-9);
  EXPECT_NEAR(used().others.value(), 1, 1e-9);
}

TEST_F(GpuUsageTest, APidOfAnotherNamespaceIsNotOurs) {
  process(100, 1);
  look(0);
  gpu_.held = {{3'000'012, 0, 0.9}};
  look(1);
  EXPECT_NEAR(used().mine.value(), 0, 1e-9);
  EXPECT_NEAR(used().others.value(), 1, 1e-9);
}

TEST_F(GpuUsageTest, WhatTheDeviceDoesNotTellIsNobodys) {
  process(100, 1);
  look(0);
  look(1);
  gpu_.silent = true;
  look(2);
  EXPECT_EQ(used().looks, 0);
  EXPECT_NEAR((used().mine + used().others).value(), 0, 1e-9);
}

TEST_F(GpuUsageTest, WhatTheLastLookFoundHoldsUntilTheEnd) {
  process(100, 1);
  look(0);
  gpu_.held = {{100, 0, 0.6}, {50, 0, 0.2}};
  look(1);
  usage_.finish(Instant{3'000'000'000});  // a second later: everybody may be gone by now
  EXPECT_NEAR(used().mine.value(), 1.5, 1e-9);
  EXPECT_NEAR(used().others.value(), 0.5, 1e-9);
  EXPECT_EQ(used().looks, 1);
  EXPECT_NEAR(used().equal_looks(), 1, 1e-9);
}

TEST_F(GpuUsageTest, LooksOfUnequalTimeTellAsMuchAsFewerOnes) {
  process(100, 1);
  look(0);
  gpu_.held = {{100, 0, 0.6}};
  look(0.1);
  look(0.2);
  look(1);
  EXPECT_EQ(used().looks, 3);
  EXPECT_NEAR(used().equal_looks(), 1 / 0.66, 1e-9);
}

}  // namespace
}  // namespace perjoule
