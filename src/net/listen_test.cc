#include "net/listen.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/test_socket.h"

namespace perjoule {
namespace {

std::string socket_path(const std::string& name) {
  return testing::TempDir() + name + "-" + std::to_string(::getpid());
}

TEST(ListenTest, BothLoopbackAddressesHaveOnePort) {
  const auto both = listen_on_loopback(0);
  ASSERT_TRUE(both) << both.error().text();
  EXPECT_GT(both->port, 0);
  EXPECT_EQ(port_of(both->v4), both->port);
  if (both->v6.valid()) {
    EXPECT_EQ(port_of(both->v6), both->port);
  }
  const auto again = listen_on_loopback(both->port);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(again.error().text().find(std::to_string(both->port)), std::string::npos);
}

TEST(ListenTest, AnAddressIsANumber) {
  EXPECT_TRUE(listen_on_tcp("127.0.0.1", 0));
  for (const char* const text : {"", "localhost", "127.0.0.1.5", "[::1]", "1.2.3.4:80"}) {
    const auto socket = listen_on_tcp(text, 0);
    ASSERT_FALSE(socket) << text;
    EXPECT_EQ(socket.error().code, ErrorCode::kInvalidArgument) << text;
  }
}

TEST(ListenTest, AFileHasTheModeThatWasAskedForAndGoesWithItsSocket) {
  const std::string path = socket_path("listen");
  {
    const auto first = listen_on_unix(path, 0660);
    ASSERT_TRUE(first) << first.error().text();
    struct stat found {};
    ASSERT_EQ(::stat(path.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777U, 0660U);
    EXPECT_TRUE(connect_to_unix(path).valid());
    const auto second = listen_on_unix(path, 0660);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kConflict);
    EXPECT_TRUE(connect_to_unix(path).valid()) << "the first's file is untouched";
  }
  EXPECT_FALSE(path_exists(path));
}

TEST(ListenTest, TheFileOfOneThatWasKilledIsTakenOverAndKept) {
  const std::string path = socket_path("stale");
  auto killed = listen_on_unix(path, 0600);
  ASSERT_TRUE(killed);
  killed->take().reset();  // its process has gone: nobody listens, the file is there
  {
    const auto next = listen_on_unix(path, 0600);
    ASSERT_TRUE(next) << next.error().text();
    { const UnixSocket ends = std::move(*killed); }
    EXPECT_TRUE(connect_to_unix(path).valid()) << "another's file is not taken away";
  }
  EXPECT_FALSE(path_exists(path));
}

TEST(ListenTest, AFileThatIsNoSocketStays) {
  const std::string path = socket_path("no-socket");
  ASSERT_TRUE(write_file_atomically(path, "kept"));
  const auto socket = listen_on_unix(path, 0600);
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().code, ErrorCode::kConflict);
  EXPECT_EQ(*read_file(path), "kept");
  ::unlink(path.c_str());
}

TEST(ListenTest, ALongPathIsRefused) {
  const auto socket = listen_on_unix("/tmp/" + std::string(200, 'x'), 0600);
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(listen_on_unix("/nowhere/at/all", 0600));
}

}  // namespace
}  // namespace perjoule
