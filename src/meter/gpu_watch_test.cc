#include "meter/gpu_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>

#include "meter/command_run.h"

namespace perjoule {
namespace {

/// A GPU whose driver takes its time to say who holds it: this process does.
class SlowGpu final : public Device {
 public:
  SlowGpu(std::string id, Seconds delay) : delay_(delay) { info_.id = std::move(id); }
  const DeviceInfo& info() const override { return info_; }
  std::vector<Source*> sources() override { return {}; }
  Result<std::vector<DeviceProcess>> processes() override {
    ++asked;
    clock_.sleep_until(clock_.now() + delay_);
    return std::vector<DeviceProcess>{{::getpid(), 0, 0.5}};
  }
  std::atomic<int> asked = 0;

 private:
  RealClock clock_;
  Seconds delay_;
  DeviceInfo info_;
};

class GpuWatchTest : public testing::Test {
 protected:
  void make(int count, Seconds delay) {
    for (int i = 0; i < count; ++i) {
      gpus_.push_back(std::make_unique<SlowGpu>("gpu:" + std::to_string(i), delay));
      devices_.push_back(gpus_.back().get());
    }
  }
  RealClock clock_;
  std::vector<std::unique_ptr<SlowGpu>> gpus_;
  std::vector<Device*> devices_;
};

TEST_F(GpuWatchTest, AShortRunIsLookedAtAndItsEndIsGivenAway) {
  make(1, Seconds(0));
  GpuWatch watch(devices_, "/proc", clock_);
  const Instant begin = clock_.now();
  watch.start(::getpid());
  clock_.sleep_until(begin + Seconds(0.1));
  const Instant end = clock_.now();
  const DeviceUsage used = watch.finish(end).front();
  EXPECT_GE(used.looks, 1);
  EXPECT_NEAR(used.mine.value(), (end - begin).value(), 0.005);
  EXPECT_EQ(used.others.value(), 0);
  EXPECT_GT(used.equal_looks(), 0);
  EXPECT_LE(used.equal_looks(), used.looks + 1e-9);
}

TEST_F(GpuWatchTest, ARunThatWasOverBeforeTheFirstLookWasAskedOfNobody) {
  make(1, Seconds(0));
  GpuWatch watch(devices_, "/proc", clock_);
  watch.start(::getpid());
  EXPECT_EQ(watch.finish(clock_.now()).front().asked, 0);
}

TEST_F(GpuWatchTest, ASlowDriverIsAskedSeldom) {
  make(1, Seconds(0.1));
  GpuWatch watch(devices_, "/proc", clock_);
  watch.start(::getpid());
  clock_.sleep_until(clock_.now() + Seconds(0.8));
  EXPECT_EQ(watch.finish(clock_.now()).front().asked, 1);
}

TEST_F(GpuWatchTest, TheEndWaitsForOneDeviceAtMost) {
  make(8, Seconds(0.1));
  GpuWatch watch(devices_, "/proc", clock_);
  watch.start(::getpid());
  clock_.sleep_until(clock_.now() + Seconds(0.05));
  (void)watch.finish(clock_.now());
  EXPECT_LE(gpus_[0]->asked + gpus_[1]->asked, 2);
  EXPECT_EQ(gpus_[7]->asked, 0);
}

TEST_F(GpuWatchTest, ARunThatNobodyLookedAtSaysSo) {
  make(2, Seconds(0));
  Meter meter({}, clock_);
  CommandOptions options;
  options.shared_gpus = devices_;
  options.pid = ::getpid();
  options.duration = Seconds(1e-4);
  // A machine that has other things to do may look at one of them after all; then again.
  for (int attempt = 0; attempt < 100; ++attempt) {
    const auto result = run_command(meter, options);
    ASSERT_TRUE(result) << result.error().text();
    std::string unseen;
    for (const DeviceUsage& usage : result->gpu_usage) {
      if (usage.asked == 0) unseen += (unseen.empty() ? "" : ", ") + usage.device;
    }
    if (unseen.empty()) continue;
    ASSERT_EQ(result->measurement.notes.size(), 1U);
    EXPECT_NE(result->measurement.notes[0].find("who held " + unseen), std::string::npos);
    if (unseen == "gpu:0, gpu:1") return;
  }
  FAIL() << "a run of a tenth of a millisecond was looked at a hundred times";
}

TEST_F(GpuWatchTest, ACommandsEndAndUnitsWaitForNoDriver) {
  make(8, Seconds(0.1));
  Meter meter({}, clock_);
  CommandOptions options;
  options.spawn.arguments = {"sh", "-c", "sleep 0.1; echo >&$PERJOULE_UNIT_FD; sleep 0.1"};
  options.count_units = true;
  options.shared_gpus = devices_;
  const auto result = run_command(meter, options);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_LT(result->measurement.duration.value(), 0.4);
  ASSERT_EQ(result->unit_costs.size(), 1U);
  EXPECT_LT(result->unit_costs[0].time.value(), 0.25);
  EXPECT_GE(result->gpu_usage[0].asked, 1);
}

}  // namespace
}  // namespace perjoule
