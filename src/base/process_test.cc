#include "base/process.h"

#include <gtest/gtest.h>

#include <csignal>

namespace perjoule {
namespace {

TEST(Process, OutputVariablesAndStatusComeBack) {
  const auto run = run_captured({.arguments = {"sh", "-c", "echo $PJ_X; echo oops >&2; exit 7"},
                                 .variables = {{"PJ_X", "hello"}}});
  ASSERT_TRUE(run) << run.error().text();
  EXPECT_EQ(run->output, "hello\n");
  EXPECT_EQ(run->error_output, "oops\n");
  EXPECT_EQ(run->end.status, 7);
}

TEST(Process, ASignalIsReportedAs128Plus) {
  const auto run = run_captured({.arguments = {"sh", "-c", "kill -TERM $$"}});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->end.status, 128 + SIGTERM);
  EXPECT_EQ(run->end.signal, SIGTERM);
}

TEST(Process, AProgramThatCannotRunIsAnErrorNotAStatus) {
  const auto missing = run_captured({.arguments = {"perjoule-no-such-program"}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message,
            "cannot run 'perjoule-no-such-program': No such file or directory");
  EXPECT_EQ(run_captured({.arguments = {"/etc/passwd"}}).error().code,
            ErrorCode::kPermissionDenied);
}

TEST(Process, LargeOutputsOnBothPipesDoNotDeadlock) {
  const auto run = run_captured(
      {.arguments = {"sh", "-c", "head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero"}});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->output.size(), 300000U);
  EXPECT_EQ(run->error_output.size(), 300000U);
}

TEST(Process, SignalsReachTheChild) {
  auto child = ChildProcess::start({.arguments = {"sleep", "60"}});
  ASSERT_TRUE(child);
  EXPECT_FALSE(child->poll());
  child->send_signal(SIGKILL);
  EXPECT_EQ(child->wait()->status, 128 + SIGKILL);
  EXPECT_EQ(child->poll()->signal, SIGKILL);
}
}  // namespace
}  // namespace perjoule
