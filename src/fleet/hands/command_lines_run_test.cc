#include "fleet/hands/command_lines_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "base/file.h"
#include "device/temp_tree.h"

namespace perjoule {
namespace {

using ::testing::HasSubstr;

Outcome outcome_of(std::vector<std::string> lines, Seconds within = Seconds(60)) {
  const RealClock clock;
  const auto run = CommandLinesRun::start(std::move(lines), within, clock);
  if (!run) return fail(run);
  for (;;) {
    if (const auto ended = (*run)->poll()) return *ended;
    clock.sleep_until(clock.now() + Seconds(0.002));
  }
}

TEST(CommandLinesRun, RunsOneLineAfterAnother) {
  const TempTree tree;
  EXPECT_TRUE(outcome_of({}));
  ASSERT_TRUE(outcome_of({"echo a >> " + tree / "log", "echo b >> " + tree / "log"}));
  EXPECT_EQ(*read_file(tree / "log"), "a\nb\n");
}

TEST(CommandLinesRun, StopsAtALineThatFails) {
  const TempTree tree;
  const auto failed = outcome_of({"echo no; echo such >&2; exit 3", "touch " + tree / "after"});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(failed.error().message, HasSubstr("status 3; the end of its output: no | such"));
  EXPECT_FALSE(path_exists(tree / "after"));
  EXPECT_THAT(outcome_of({"exit 1"}).error().message, HasSubstr("wrote nothing"));
}

TEST(CommandLinesRun, EndsALineThatHangsAndAllBelowIt) {
  const TempTree tree;
  const auto failed =
      outcome_of({"echo hanging; sleep 100 & echo $! > " + tree / "pid" + "; wait"}, Seconds(0.5));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kTimeout);
  EXPECT_THAT(failed.error().message, HasSubstr("hanging"));
  const auto pid = std::stoi(*read_file(tree / "pid"));
  // It is dead, if perhaps nobody has taken note of it yet.
  const RealClock clock;
  std::string state = "R";
  for (int i = 0; i < 500 && state != "gone"; ++i) {
    const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
    state = !stat || stat->find(") Z") != std::string::npos ? "gone" : "R";
    clock.sleep_until(clock.now() + Seconds(0.01));
  }
  EXPECT_EQ(state, "gone");
}

TEST(CommandLinesRun, LeavesRunningWhatALineLeftRunning) {
  const TempTree tree;
  // It writes after its line has ended, which must not end it.
  ASSERT_TRUE(outcome_of({"(sleep 0.3; echo late; echo alive > " + tree / "alive" + ") &"}));
  const RealClock clock;
  for (int i = 0; i < 500 && !path_exists(tree / "alive"); ++i)
    clock.sleep_until(clock.now() + Seconds(0.01));
  EXPECT_TRUE(path_exists(tree / "alive"));
}

}  // namespace
}  // namespace perjoule
