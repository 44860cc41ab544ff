#include "twin/process_watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "base/clock.h"
#include "device/temp_tree.h"

namespace perjoule::twin {
namespace {

/// A child that does nothing until it is killed.
pid_t sleeping_child() {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  return child;
}

TEST(ProcessWatch, AZombieHasEnded) {
  const pid_t child = sleeping_child();
  EXPECT_FALSE(has_ended(child));
  kill(child, SIGKILL);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(has_ended(child));
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(has_ended(child));
  EXPECT_FALSE(has_ended(static_cast<int>(getpid())));
}

class HeldDevice : public testing::Test {
 protected:
  /// Watts a device comes to rest at.
  static double rest(World& world) {
    EXPECT_TRUE(world.advance(Seconds(20)));
    return world.power(0).value();
  }

  TempTree tree_;
  World world_ = *World::create(tree_ / "machine", {"h100"}, ClockMode::kManual);
};

TEST_F(HeldDevice, IdlesDeeplyOnceItsProcessIsGoneThoughNobodyAsksWhoUsesIt) {
  const double deep = rest(world_);
  const pid_t child = sleeping_child();
  ASSERT_TRUE(world_.attach(0, child, 1 << 20));
  EXPECT_GT(rest(world_), deep + 20);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_NEAR(rest(world_), deep, 1);
}

TEST_F(HeldDevice, DrawsTheSameHoweverOftenItIsLookedAtAfterwards) {
  double joules[2];
  for (const int looks : {0, 1}) {
    const pid_t child = sleeping_child();
    ASSERT_TRUE(world_.attach(0, child, 1 << 20));
    (void)rest(world_);
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    const double before = world_.truth(0).value();
    for (int i = 0; i < (looks == 0 ? 1 : 200); ++i)
      ASSERT_TRUE(world_.advance(Seconds(looks == 0 ? 20 : 0.1)));
    joules[looks] = world_.truth(0).value() - before;
  }
  EXPECT_NEAR(joules[0], joules[1], 0.01 * joules[0]);
}

TEST_F(HeldDevice, IsReleasedByTheWatchAsSoonAsItsProcessIsAZombie) {
  const pid_t child = sleeping_child();
  ASSERT_TRUE(world_.attach(0, child, 1 << 20));
  release_ended(world_);
  EXPECT_EQ(world_.mapping().block().devices[0].processes[0].pid, child);
  kill(child, SIGKILL);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  release_ended(world_);
  EXPECT_EQ(world_.mapping().block().devices[0].processes[0].pid, 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
}

/// A child that holds both devices of a machine in running time for a while and is killed; of one
/// of them somebody reads the power now and again. Joules of each at the end.
std::pair<double, double> held_until_killed(bool reaped, bool watched) {
  const TempTree tree;
  World world = *World::create(tree / "machine", {"h100", "h100"}, ClockMode::kReal);
  const pid_t child = sleeping_child();
  for (const int device : {0, 1}) EXPECT_TRUE(world.attach(device, child, 1 << 20));
  std::jthread watcher;
  if (watched)
    watcher = std::jthread([&world](const std::stop_token& stop) { watch_processes(stop, world); });
  const RealClock clock;
  const Instant begin = clock.now();
  // Until the context's own power has settled, and long beyond.
  world.mapping().block().speed = 40;
  const auto look_until = [&](Seconds time) {
    while (clock.now() - begin < time) {
      (void)world.power(1);
      clock.sleep_until(clock.now() + Seconds(0.01));
    }
  };
  look_until(Seconds(0.5));
  kill(child, SIGKILL);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  if (reaped) waitpid(child, nullptr, 0);
  if (watched) look_until(Seconds(0.7));
  const std::pair<double, double> joules{world.truth(0).value(), world.truth(1).value()};
  if (!reaped) waitpid(child, nullptr, 0);
  return joules;
}

TEST(KilledProcess, HeldItsDeviceUntilItsEndWhoeverLooked) {
  for (const bool reaped : {true, false}) {
    for (const bool watched : {true, false}) {
      const auto [unseen, seen] = held_until_killed(reaped, watched);
      EXPECT_NEAR(unseen, seen, 0.03 * seen) << reaped << watched;
    }
  }
}

TEST(KilledProcess, HeldItsDeviceUntilItIsListedNoMore) {
  const TempTree tree;
  World world = *World::create(tree / "machine", {"h100", "h100"}, ClockMode::kReal);
  world.mapping().block().speed = 40;
  const pid_t child = sleeping_child();
  for (const int device : {0, 1}) ASSERT_TRUE(world.attach(device, child, 1 << 20));
  const RealClock clock;
  clock.sleep_until(clock.now() + Seconds(0.5));
  const double held = world.truth(1).value();
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  ASSERT_TRUE(world.detach(0, child));
  EXPECT_NEAR(world.truth(0).value(), held, 0.05 * held);
}

}  // namespace
}  // namespace perjoule::twin
