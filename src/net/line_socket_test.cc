#include "net/line_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <mutex>

namespace perjoule {
namespace {

class Echo final : public LineService {
 public:
  std::string answer(int client, std::string_view line) override {
    if (line == "many") return std::string(3 << 20, 'x');
    return std::to_string(client) + ":" + std::string(line);
  }
  void left(int client) override {
    const std::lock_guard lock(mutex_);
    left_.push_back(client);
    changed_.notify_all();
  }
  std::vector<int> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return left_.size() >= count; });
    return left_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> left_;
};

class LineSocket : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    auto server = LineServer::listen(path_, echo_);
    ASSERT_TRUE(server) << server.error().text();
    server_ = std::move(*server);
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }
  LineClient client() {
    auto connected = LineClient::connect(path_, Seconds(10));
    EXPECT_TRUE(connected) << connected.error().text();
    return std::move(*connected);
  }
  std::string ask(LineClient& client, std::string_view line) {
    auto answer = client.ask(line, Seconds(20));
    EXPECT_TRUE(answer) << answer.error().text();
    return answer ? *answer : "";
  }
  /// A client that speaks bytes, not lines.
  FileDescriptor raw() const {
    FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(&address.sun_path[0], path_.data(), path_.size());
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return socket;
  }

  Echo echo_;
  std::string folder_ = testing::TempDir() + "line-" + std::to_string(getpid());
  std::string path_ = folder_ + "/socket";
  std::unique_ptr<LineServer> server_;
};

TEST_F(LineSocket, EachLineHasItsAnswer) {
  LineClient one = client();
  LineClient two = client();
  EXPECT_EQ(ask(one, "a"), "0:a");
  EXPECT_EQ(ask(two, "b"), "1:b");
  EXPECT_EQ(ask(one, ""), "0:");
}

TEST_F(LineSocket, LinesLongerThanASocketsBuffer) {
  LineClient one = client();
  const std::string long_line(5 << 20, 'y');
  EXPECT_EQ(ask(one, long_line), "0:" + long_line);
  EXPECT_EQ(ask(one, "many").size(), 3U << 20U);
}

TEST_F(LineSocket, ALineInPiecesAndTwoInOne) {
  const FileDescriptor socket = raw();
  ASSERT_EQ(::write(socket.get(), "he", 2), 2);
  ASSERT_EQ(::write(socket.get(), "llo\nyou\n", 8), 8);
  std::string got;
  char buffer[64];
  while (got.size() < 14) {
    const ssize_t count = ::read(socket.get(), &buffer[0], sizeof(buffer));
    ASSERT_GT(count, 0);
    got.append(&buffer[0], static_cast<std::size_t>(count));
  }
  EXPECT_EQ(got, "0:hello\n0:you\n");
}

TEST_F(LineSocket, TheEndOfAClientIsNoticed) {
  {
    LineClient one = client();
    ask(one, "a");
  }
  LineClient two = client();
  EXPECT_EQ(echo_.wait_for(1), std::vector<int>{0});
  EXPECT_EQ(ask(two, "still"), "1:still");
}

TEST_F(LineSocket, TheEndOfTheServerIsAnError) {
  LineClient one = client();
  ask(one, "a");
  server_.reset();
  const auto answer = one.ask("b", Seconds(10));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(one.ask("c", Seconds(10)));
  EXPECT_FALSE(std::filesystem::exists(path_));
  const auto again = LineClient::connect(path_, Seconds(0.05));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kUnavailable);
}

TEST_F(LineSocket, OnlyItsOwnerMaySpeak) {
  struct stat state {};
  ASSERT_EQ(::stat(path_.c_str(), &state), 0);
  EXPECT_EQ(state.st_mode & 0777U, 0600U);
}

TEST_F(LineSocket, PathsThatAreNone) {
  const auto again = LineServer::listen(path_, echo_);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kConflict);
  const auto long_one = LineServer::listen(std::string(200, 'p'), echo_);
  ASSERT_FALSE(long_one);
  EXPECT_EQ(long_one.error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(LineServer::listen("/nowhere/at/all", echo_));
}

}  // namespace
}  // namespace perjoule
