// The server as a client with a socket sees it.
#include "twin/serve_http.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "net/test_socket.h"

namespace perjoule::twin {
namespace {

/// A request and all that comes back until the connection is closed.
std::string ask(int port, const std::string& path, const std::string& body = "",
                bool ipv6 = false) {
  const FileDescriptor fd = connect_to(port, ipv6);
  write_all(fd, (body.empty() ? "GET " : "POST ") + path +
                    " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer k\r\n" +
                    "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  return read_to_end(fd);
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Answers by the path that is asked for.
class Paths final : public HttpHandler {
 public:
  void handle(const HttpRequest& request, std::shared_ptr<HttpExchange> exchange) override {
    if (request.path == "/echo") {
      exchange->answer({.status = 201},
                       request.method + " " + request.authorization + " " + request.body);
    } else if (request.path == "/busy") {
      exchange->answer({.status = 429, .retry_after_s = 7}, "{}");
    } else if (request.path == "/stream" || request.path == "/broken") {
      exchange->begin_stream({.content_type = "text/event-stream"});
      exchange->send({{"one "}, {"two ", Seconds(0.03)}, {"three"}});
      exchange->end(request.path == "/broken");
    } else {
      const std::lock_guard lock(mutex_);
      kept_ = std::move(exchange);  // nobody answers, for now
      changed_.notify_all();
    }
  }
  void ended(const HttpExchange&) override {
    const std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_all();
  }
  std::shared_ptr<HttpExchange> wait_for_kept() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return kept_ != nullptr; });
    return std::exchange(kept_, nullptr);
  }
  void wait_for_ended(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<HttpExchange> kept_;
  int ended_ = 0;
};

class ServeHttpTest : public testing::Test {
 protected:
  void SetUp() override {
    auto started = HttpServer::start(0, handler_);
    ASSERT_TRUE(started) << started.error().text();
    server_ = std::move(*started);
  }
  int port() const { return server_->port(); }

  Paths handler_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(ServeHttpTest, AnswersOnBothAddressesOfOnePort) {
  EXPECT_GT(port(), 0);
  const std::string answer = ask(port(), "/echo?x=1", "body");
  EXPECT_TRUE(contains(answer, "HTTP/1.1 201 ")) << answer;
  EXPECT_TRUE(contains(answer, "Content-Type: application/json")) << answer;
  EXPECT_TRUE(contains(answer, "\r\n\r\nPOST Bearer k body")) << answer;
  if (!server_->has_ipv6()) GTEST_SKIP() << "no ::1 here";
  EXPECT_TRUE(contains(ask(port(), "/echo", "", true), "GET Bearer k "));
}

TEST_F(ServeHttpTest, SaysWhenToComeAgain) {
  const std::string answer = ask(port(), "/busy");
  EXPECT_TRUE(contains(answer, "HTTP/1.1 429 "));
  EXPECT_TRUE(contains(answer, "Retry-After: 7\r\n"));
}

TEST_F(ServeHttpTest, APieceIsAChunk) {
  const std::string answer = ask(port(), "/stream");
  EXPECT_TRUE(contains(answer, "Transfer-Encoding: chunked")) << answer;
  EXPECT_TRUE(contains(answer, "\r\n\r\n4\r\none \r\n4\r\ntwo \r\n5\r\nthree\r\n0\r\n")) << answer;
}

TEST_F(ServeHttpTest, ABrokenStreamHasNoEnd) {
  const std::string answer = ask(port(), "/broken");
  EXPECT_TRUE(contains(answer, "5\r\nthree\r\n")) << answer;
  EXPECT_FALSE(contains(answer, "0\r\n\r\n")) << answer;
}

TEST_F(ServeHttpTest, AnAnswerMayComeLater) {
  std::string answer;
  std::thread client([&] { answer = ask(port(), "/later"); });
  handler_.wait_for_kept()->answer({}, "late");
  client.join();
  EXPECT_TRUE(contains(answer, "\r\n\r\nlate")) << answer;
}

TEST_F(ServeHttpTest, PiecesMayComeFromAnotherThreadOneByOne) {
  std::string answer;
  std::thread client([&] { answer = ask(port(), "/later"); });
  const auto exchange = handler_.wait_for_kept();
  exchange->begin_stream({});
  for (int i = 0; i < 500; ++i) exchange->send({{"x"}});
  exchange->end(false);
  client.join();
  std::size_t count = 0;
  for (std::size_t at = 0; (at = answer.find("\r\nx\r\n", at)) != std::string::npos; at += 3)
    ++count;
  EXPECT_EQ(count, 500u);
}

TEST_F(ServeHttpTest, StopsWithClientsThatWait) {
  const FileDescriptor waiting = connect_to(port());
  write_all(waiting, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto exchange = handler_.wait_for_kept();
  const FileDescriptor streaming = connect_to(port());
  write_all(streaming, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto stream = handler_.wait_for_kept();
  stream->begin_stream({});
  stream->send({{"soon", Seconds(3600)}});
  server_.reset();
  EXPECT_EQ(read_to_end(waiting), "");
  EXPECT_FALSE(contains(read_to_end(streaming), "soon"));
  exchange->answer({}, "too late");  // has no effect
  stream->end(false);
}

TEST_F(ServeHttpTest, APortThatIsTakenIsSaid) {
  Paths other;
  const auto second = HttpServer::start(port(), other);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(contains(second.error().text(), std::to_string(port())));
}

}  // namespace
}  // namespace perjoule::twin
