#include "serving/bench/server_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

#include "base/file.h"
#include "base/text.h"
#include "device/process_times.h"
#include "device/temp_tree.h"
#include "net/test_http_server.h"

namespace perjoule {
namespace {

/// A port that was free a moment ago.
int free_port() {
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(address.sin_port);
}

class ServerProcessTest : public ::testing::Test {
 protected:
  ServerPlan plan(const std::string& command, int port) {
    ServerPlan made;
    made.command = command;
    made.ready = HttpUrl::parse("http://127.0.0.1:" + std::to_string(port) + "/ready").value();
    made.ready_within = Seconds(20);
    made.grace = Seconds(5);
    made.log = tree_ / "server.log";
    made.state = tree_ / "server.json";
    return made;
  }
  /// A child of the shell's, so that there is something below it.
  std::string python(int port) {
    tree_.write("ready", "yes");
    return "echo starting; cd " + tree_.path() + " && python3 -m http.server " +
           std::to_string(port) + " --bind 127.0.0.1; true";
  }
  std::int64_t recorded_pid() {
    return *parse_integer(trim(read_file(tree_ / "server.json").value()));
  }
  static std::size_t running(std::int64_t session) {
    std::size_t count = 0;
    for (const ProcessTimes& process : list_process_times("/proc"))
      count += process.session == session && !process.ended() ? 1 : 0;
    return count;
  }
  TempTree tree_;
  RealClock clock_;
};

TEST_F(ServerProcessTest, IsThereUntilItIsEnded) {
  const int port = free_port();
  auto server = ServerProcess::start(plan(python(port), port), clock_, {});
  ASSERT_TRUE(server) << server.error().text();
  EXPECT_FALSE((*server)->has_ended());
  const std::int64_t session = recorded_pid();
  EXPECT_GE(running(session), 2u);
  // Another one cannot take its place unseen.
  const auto second = ServerProcess::start(plan("true", port), clock_, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  ASSERT_TRUE((*server)->end());
  EXPECT_EQ(running(session), 0u);
  EXPECT_FALSE(path_exists(tree_ / "server.json"));
}

TEST_F(ServerProcessTest, OneThatEndsBeforeItServesIsToldWithItsLog) {
  const auto server =
      ServerProcess::start(plan("echo no memory left; exit 7", free_port()), clock_, {});
  ASSERT_FALSE(server);
  EXPECT_NE(server.error().message.find("status 7"), std::string::npos);
  EXPECT_NE(server.error().message.find("no memory left"), std::string::npos);
}

TEST_F(ServerProcessTest, OneThatDoesNotAnswerInTimeIsEnded) {
  ServerPlan slow = plan("sleep 300 & wait", free_port());
  slow.ready_within = Seconds(0.3);
  const auto server = ServerProcess::start(slow, clock_, {});
  ASSERT_FALSE(server);
  EXPECT_NE(server.error().message.find("does not answer"), std::string::npos);
  EXPECT_FALSE(path_exists(tree_ / "server.json"));
  ServerPlan silent = plan("sleep 300 & wait", free_port());
  silent.silent_for = Seconds(0.3);
  const auto quiet = ServerProcess::start(silent, clock_, {});
  ASSERT_FALSE(quiet);
  EXPECT_NE(quiet.error().message.find("written nothing"), std::string::npos);
}

TEST_F(ServerProcessTest, WhatAKilledSweepLeftIsEndedAndNothingElse) {
  SpawnOptions options;
  options.arguments = {"/bin/sh", "-c", "sleep 300 & wait"};
  options.has_own_session = true;
  auto child = ChildProcess::start(options);
  ASSERT_TRUE(child);
  for (int i = 0; i < 1000 && running(child->pid()) < 2; ++i) ::usleep(1000);
  const std::string state = tree_ / "state";
  ASSERT_TRUE(write_file_atomically(state, std::to_string(child->pid()) + "\n"));
  // A number that was used again since: the file is an hour older than the process.
  timespec times[2]{};
  times[0].tv_sec = times[1].tv_sec = ::time(nullptr) - 3600;
  ASSERT_EQ(::utimensat(AT_FDCWD, state.c_str(), times, 0), 0);
  EXPECT_EQ(*end_left_over(state, clock_, Seconds(5)), false);
  EXPECT_EQ(running(child->pid()), 2u);
  ASSERT_TRUE(write_file_atomically(state, std::to_string(child->pid()) + "\n"));
  EXPECT_EQ(*end_left_over(state, clock_, Seconds(5)), true);
  EXPECT_EQ(running(child->pid()), 0u);
  EXPECT_FALSE(path_exists(state));
  EXPECT_EQ(*end_left_over(state, clock_, Seconds(5)), false);
}

TEST_F(ServerProcessTest, WhatLeftItsSessionIsEndedToo) {
  const int port = free_port();
  tree_.write("ready", "yes");
  auto server =
      ServerProcess::start(plan("cd " + tree_.path() + "; setsid python3 -m http.server " +
                                    std::to_string(port) + " --bind 127.0.0.1 & sleep 1000",
                                port),
                           clock_, {});
  ASSERT_TRUE(server) << server.error().text();
  ASSERT_TRUE((*server)->end());
  const auto again = ServerProcess::start(plan("exit 3", port), clock_, {});
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().code, ErrorCode::kConflict) << "it still answers";
}

}  // namespace
}  // namespace perjoule
