#include "twin/process_watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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

}  // namespace
}  // namespace perjoule::twin
