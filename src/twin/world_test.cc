#include "twin/world.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "base/file.h"

namespace perjoule::twin {
namespace {

class WorldTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "twin-" + std::to_string(getpid()) + "-" +
            testing::UnitTest::GetInstance()->current_test_info()->name();
    std::remove(path_.c_str());
  }
  void TearDown() override { std::remove(path_.c_str()); }
  World make(const std::vector<std::string>& models, ClockMode mode = ClockMode::kManual) {
    auto world = World::create(path_, models, mode);
    EXPECT_TRUE(world) << world.error().text();
    return std::move(*world);
  }
  std::string path_;
};

TEST_F(WorldTest, RunMovesTheManualClockByExactlyThePhase) {
  World world = make({"h100"});
  ASSERT_TRUE(world.run(0, {.flop = 989e12 * 0.25, .activity = 0.3}));
  EXPECT_NEAR(world.now().value(), 0.25, 2e-9);
  EXPECT_GT(world.truth(0).value(), 0.25 * 72);
}

TEST_F(WorldTest, AllDevicesMoveOnOneClock) {
  World world = make({"h100", "a100"});
  ASSERT_TRUE(world.advance(Seconds(2)));
  ASSERT_TRUE(world.run(1, {.flop = 312e12, .activity = 0.3}));
  EXPECT_NEAR(world.now().value(), 3, 1e-8);
  EXPECT_NEAR(world.truth(0).value() / 3, world.power(0).value(), 2);
}

TEST_F(WorldTest, GaugesShowTheRestBeforeTheFirstTick) {
  World world = make({"h100", "v100"});
  for (int device = 0; device < world.device_count(); ++device) {
    const SensorState& shown = world.mapping().block().devices[device].shown;
    EXPECT_NEAR(shown.instant_w, world.power(device).value(), 1e-9) << device;
    EXPECT_EQ(shown.average_w, shown.instant_w) << device;
  }
}

TEST_F(WorldTest, TwoMappingsSeeOneMachine) {
  World world = make({"v100"});
  auto other = World::open(path_);
  ASSERT_TRUE(other);
  ASSERT_TRUE(other->advance(Seconds(5)));
  EXPECT_DOUBLE_EQ(world.now().value(), 5);
  EXPECT_EQ(world.truth(0).value(), other->truth(0).value());
  EXPECT_EQ(world.uuid(0), other->uuid(0));
  EXPECT_FALSE(world.uuid(0).empty());
}

TEST_F(WorldTest, RealTimeRunsByItselfAndCannotBeMoved) {
  World world = make({"v100"}, ClockMode::kReal);
  EXPECT_FALSE(world.advance(Seconds(1)));
  const auto ticket = world.begin_phase(0, {.flop = 1});
  ASSERT_TRUE(ticket);
  ASSERT_TRUE(world.wait(0, *ticket));
  EXPECT_EQ(world.remaining(0, *ticket).value(), 0);
}

TEST_F(WorldTest, LimitSlowsWorkDownAndIsChecked) {
  World world = make({"h100"});
  const Phase gemm{.flop = 989e12};
  ASSERT_TRUE(world.run(0, gemm));
  const double fast = world.now().value();
  ASSERT_TRUE(world.set_limit(0, Watts(300)));
  ASSERT_TRUE(world.run(0, gemm));
  EXPECT_GT(world.now().value() - fast, 1.5 * fast);
  EXPECT_EQ(world.set_limit(0, Watts(900)).error().code, ErrorCode::kOutOfRange);
  Fault cap{.kind = FaultKind::kCap, .value = 250};
  ASSERT_TRUE(world.set_fault(cap));
  ASSERT_TRUE(world.begin_phase(0, gemm));
  ASSERT_TRUE(world.advance(Seconds(0.5)));
  EXPECT_NEAR(world.power(0).value(), 250, 5);
}

TEST_F(WorldTest, EndPhaseDropsTheWork) {
  World world = make({"h100"});
  const auto ticket = world.begin_phase(0, {.flop = 1e18});
  ASSERT_TRUE(ticket);
  ASSERT_TRUE(world.advance(Seconds(0.5)));
  EXPECT_GT(world.remaining(0, *ticket).value(), 100);
  ASSERT_TRUE(world.end_phase(0));
  EXPECT_EQ(world.remaining(0, *ticket).value(), 0);
}

TEST_F(WorldTest, RefusesWhatMakesNoSense) {
  World world = make({"h100"});
  EXPECT_FALSE(world.begin_phase(1, {.flop = 1}));
  EXPECT_FALSE(world.begin_phase(0, {.flop = -1}));
  EXPECT_FALSE(world.begin_phase(0, {.flop = 1.0 / 0.0}));
  EXPECT_FALSE(world.advance(Seconds(-1)));
  EXPECT_FALSE(world.set_fault({.kind = FaultKind::kStride, .value = 20}));
  EXPECT_FALSE(world.set_fault({.kind = FaultKind::kMig, .value = 9}));
  EXPECT_FALSE(world.set_fault({.kind = FaultKind::kMissing, .call = "x"}));
  EXPECT_FALSE(World::create(path_, {"h100"}, ClockMode::kReal));  // exists
  EXPECT_FALSE(World::create(path_ + "2", {"b1"}, ClockMode::kReal));
  EXPECT_FALSE(World::create(path_ + "2", {}, ClockMode::kReal));
}

TEST_F(WorldTest, RefusesAFileThatIsNoTwin) {
  EXPECT_EQ(World::open(path_).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(write_file_atomically(path_, "short"));
  EXPECT_EQ(World::open(path_).error().code, ErrorCode::kDataLoss);
  ASSERT_TRUE(write_file_atomically(path_, std::string(sizeof(ControlBlock), 'x')));
  EXPECT_EQ(World::open(path_).error().code, ErrorCode::kDataLoss);
  std::remove(path_.c_str());
  World world = make({"h100"});
  world.mapping().block().version = 99;
  EXPECT_EQ(World::open(path_).error().code, ErrorCode::kConflict);
}

TEST_F(WorldTest, SurvivesAProcessThatDiesWithTheLock) {
  World world = make({"h100"});
  const pid_t child = fork();
  if (child == 0) {
    pthread_mutex_lock(&world.mapping().block().mutex);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(world.advance(Seconds(1)));
  EXPECT_DOUBLE_EQ(world.now().value(), 1);
}

TEST_F(WorldTest, ForgetsDeadProcesses) {
  World world = make({"h100"});
  ASSERT_TRUE(world.attach(0, static_cast<int>(getpid()), 1000));
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_TRUE(world.attach(0, child, 2000));
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  ASSERT_TRUE(world.attach(0, static_cast<int>(getpid()), 1000));
  const DeviceBlock& device = world.mapping().block().devices[0];
  EXPECT_EQ(device.processes[0].pid, getpid());
  EXPECT_EQ(device.processes[1].pid, 0);
  ASSERT_TRUE(world.detach(0, static_cast<int>(getpid())));
  EXPECT_EQ(device.processes[0].pid, 0);
}

TEST_F(WorldTest, FaultsAreClearedAgain) {
  World world = make({"h100"});
  for (const char* text : {"lost:at=1s", "tick:value=20", "window:value=7", "gaps", "mig:value=3",
                           "return:call=*,code=999", "driver:value=535.54"}) {
    const auto fault = parse_fault(text);
    ASSERT_TRUE(fault);
    ASSERT_TRUE(world.set_fault(*fault)) << text;
  }
  const ControlBlock& block = world.mapping().block();
  EXPECT_EQ(block.devices[0].sensor.tick_ms, 20);
  EXPECT_EQ(block.devices[0].mig_instances, 3);
  EXPECT_STREQ(block.driver_version, "535.54");
  world.clear_faults();
  EXPECT_EQ(block.devices[0].sensor.tick_ms, 100);
  EXPECT_EQ(block.devices[0].mig_instances, 0);
  EXPECT_EQ(block.call_fault_count, 0);
}

}  // namespace
}  // namespace perjoule::twin
