// The server as a client with a socket sees it.
#include "net/http_server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "net/listen.h"
#include "net/test_socket.h"

namespace perjoule {
namespace {

/// A request and all that comes back until the connection is closed.
std::string ask(const FileDescriptor& fd, const std::string& target, const std::string& body = "") {
  write_all(fd, (body.empty() ? "GET " : "POST ") + target +
                    " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Word: w\r\n" +
                    "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  return read_to_end(fd);
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

/// Says at "/echo" what it was asked; all others wait.
class Echo final : public ServerHandler {
 public:
  void handle(const ServerRequest& request, std::shared_ptr<ServerExchange> exchange) override {
    if (request.path() == "/echo") {
      exchange->answer({.status = 201, .content_type = "text/plain", .fields = {{"X-More", "m"}}},
                       request.method + " " + request.target + " " +
                           std::string(request.field("x-word")) + " " + request.body);
      return;
    }
    const std::lock_guard lock(mutex_);
    peer_ = request.peer;
    kept_ = std::move(exchange);
    changed_.notify_all();
  }
  void ended(const ServerExchange&) override {
    const std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_all();
  }
  std::size_t most_body(const ServerRequest& request) const override {
    return request.field("x-word") == "long" ? 2000 : 0;
  }
  std::string refusal(int status, std::string_view why) const override {
    return "refused: " + std::to_string(status) + " " + std::string(why);
  }
  std::shared_ptr<ServerExchange> wait_for_kept() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return kept_ != nullptr; });
    return std::exchange(kept_, nullptr);
  }
  void wait_for_ended(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ >= count; });
  }
  HttpPeer peer() {
    const std::lock_guard lock(mutex_);
    return peer_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<ServerExchange> kept_;
  HttpPeer peer_;
  int ended_ = 0;
};

class HttpServerTest : public testing::Test {
 protected:
  void start(const ServerLimits& limits = {}) {
    auto sockets = listen_on_loopback(0);
    ASSERT_TRUE(sockets) << sockets.error().text();
    port_ = sockets->port;
    auto server = HttpServer::create(handler_, limits);
    ASSERT_TRUE(server) << server.error().text();
    server_ = std::move(*server);
    ASSERT_TRUE(server_->serve({.socket = std::move(sockets->v4), .name = "tcp"}));
  }

  Echo handler_;
  int port_ = 0;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, HandsOnTheRequestAsItCame) {
  start();
  const std::string answer = ask(connect_to(port_), "/echo?a=%2F&b=1", "body");
  EXPECT_TRUE(contains(answer, "HTTP/1.1 201 ")) << answer;
  EXPECT_TRUE(contains(answer, "Content-Type: text/plain\r\n")) << answer;
  EXPECT_TRUE(contains(answer, "X-More: m\r\n")) << answer;
  EXPECT_TRUE(contains(answer, "\r\n\r\nPOST /echo?a=%2F&b=1 w body")) << answer;
}

TEST_F(HttpServerTest, ALongBodyArrivesWholeAndATooLongOneIsRefused) {
  start({.body_bytes = 3'000'000});
  const std::string body(3'000'000, 'x');
  EXPECT_TRUE(contains(ask(connect_to(port_), "/echo", body), "POST /echo w " + body));
  const FileDescriptor longer = connect_to(port_);
  write_all(longer, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3000001\r\n\r\n");
  EXPECT_TRUE(contains(read_to_end(longer), "refused: 413 the request's body is longer than"))
      << "before it comes";
  const FileDescriptor chunked = connect_to(port_);
  write_all(
      chunked,
      "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 4; ++i)
    write_all(chunked, "F4240\r\n" + std::string(1'000'000, 'x') + "\r\n");
  write_all(chunked, "0\r\n\r\n");
  EXPECT_TRUE(contains(read_to_end(chunked), "refused: 413"));
}

TEST_F(HttpServerTest, ARequestMayBeAllowedALongerBody) {
  start({.body_bytes = 1000});
  const auto answer_to = [&](const std::string& word, std::size_t bytes) {
    const FileDescriptor socket = connect_to(port_);
    write_all(socket, "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Word: " + word +
                          "\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n");
    if (bytes <= 2000) write_all(socket, std::string(bytes, 'x'));
    return read_to_end(socket);
  };
  EXPECT_TRUE(contains(answer_to("w", 1000), " 201 "));
  EXPECT_TRUE(contains(answer_to("long", 2000), " 201 "));
  EXPECT_TRUE(contains(answer_to("long", 2001), "longer than 2000 bytes"));
  EXPECT_TRUE(contains(answer_to("w", 1001), "longer than 1000 bytes"));
}

TEST_F(HttpServerTest, PiecesOfAStreamMayComeFromAnotherThreadAndBeShared) {
  start();
  std::string answer;
  std::thread client([&] { answer = ask(connect_to(port_), "/later"); });
  const auto exchange = handler_.wait_for_kept();
  exchange->begin_stream({.content_type = "text/event-stream"});
  const SharedText piece = shared_text("x");
  for (int i = 0; i < 500; ++i) exchange->send(piece);
  exchange->end(false);
  client.join();
  EXPECT_EQ(count_of(answer, "\r\nx\r\n"), 500U);
  EXPECT_TRUE(contains(answer, "Transfer-Encoding: chunked")) << answer;
}

TEST_F(HttpServerTest, ABrokenStreamHasNoEnd) {
  start();
  std::string answer;
  std::thread client([&] { answer = ask(connect_to(port_), "/later"); });
  const auto exchange = handler_.wait_for_kept();
  exchange->begin_stream({});
  exchange->send(shared_text("three"));
  exchange->end(true);
  client.join();
  EXPECT_TRUE(contains(answer, "5\r\nthree\r\n")) << answer;
  EXPECT_FALSE(contains(answer, "0\r\n\r\n")) << answer;
}

TEST_F(HttpServerTest, HowFarAClientLagsIsTold) {
  start();
  const FileDescriptor lazy = connect_to(port_);
  write_all(lazy, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto exchange = handler_.wait_for_kept();
  exchange->begin_stream({});
  const SharedText piece = shared_text(std::string(1'000'000, 'x'));
  std::size_t lag = 0;
  for (int i = 0; i < 100; ++i) lag = exchange->send(piece);
  EXPECT_GT(lag, 50'000'000U) << "sockets hold no such amounts";
  exchange->end(true);
}

TEST_F(HttpServerTest, AClientThatGoesIsNoticedWhenItIsWrittenTo) {
  start();
  std::shared_ptr<ServerExchange> exchange;
  {
    const FileDescriptor fd = connect_to(port_);
    write_all(fd, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    exchange = handler_.wait_for_kept();
    EXPECT_EQ(server_->exchanges(), 1U);
  }
  exchange->begin_stream({});
  const std::jthread writer([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      exchange->send(shared_text(std::string(10'000, 'x')));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  handler_.wait_for_ended(1);
}

TEST_F(HttpServerTest, ASlowRequestIsHungUpOn) {
  start({.request_time = Seconds(0.2)});
  for (const char* const begun :
       {"", "GET /echo HT", "GET /echo HTTP/1.1\r\nHost: x\r\nX-",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nso far"}) {
    const FileDescriptor slow = connect_to(port_);
    std::jthread dripping([&](const std::stop_token& stop) {
      write_all(slow, begun);
      while (!stop.stop_requested()) {
        if (*begun != 0) write_all(slow, "a");
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
    EXPECT_FALSE(contains(read_to_end(slow), " 201 ")) << begun;
  }
}

TEST_F(HttpServerTest, AnAnswerMayTakeAsLongAsItLikes) {
  start({.request_time = Seconds(0.1)});
  std::string answer;
  std::thread client([&] {
    // A machine that stands still for a moment may have a request hung up on before it is whole.
    while (answer.empty()) answer = ask(connect_to(port_), "/later");
  });
  const auto exchange = handler_.wait_for_kept();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  exchange->answer({}, "late");
  client.join();
  EXPECT_TRUE(contains(answer, "\r\n\r\nlate")) << answer;
}

TEST_F(HttpServerTest, TellsWhoAsks) {
  start();
  std::thread client([&] { ask(connect_to(port_), "/who"); });
  handler_.wait_for_kept()->answer({}, "");
  client.join();
  EXPECT_EQ(handler_.peer().listener, "tcp");
  EXPECT_EQ(handler_.peer().address.rfind("127.0.0.1:", 0), 0U) << handler_.peer().address;
  EXPECT_FALSE(handler_.peer().process);

  const std::string path = testing::TempDir() + "who-" + std::to_string(::getpid());
  auto socket = listen_on_unix(path, 0600);
  ASSERT_TRUE(socket) << socket.error().text();
  ASSERT_TRUE(server_->serve({.socket = socket->take(), .name = "local"}));
  std::thread local([&] { ask(connect_to_unix(path), "/who"); });
  handler_.wait_for_kept()->answer({}, "");
  local.join();
  EXPECT_EQ(handler_.peer().listener, "local");
  EXPECT_EQ(handler_.peer().address, "");
  ASSERT_TRUE(handler_.peer().process);
  EXPECT_EQ(handler_.peer().process->uid, ::getuid());
  EXPECT_EQ(handler_.peer().process->pid, ::getpid());
}

TEST_F(HttpServerTest, StopsWithClientsThatWait) {
  start();
  const FileDescriptor waiting = connect_to(port_);
  write_all(waiting, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto exchange = handler_.wait_for_kept();
  const FileDescriptor streaming = connect_to(port_);
  write_all(streaming, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto stream = handler_.wait_for_kept();
  stream->begin_stream({});
  server_->stop_listening();
  EXPECT_FALSE(connect_to(port_).valid());
  server_.reset();
  EXPECT_EQ(read_to_end(waiting), "");
  exchange->answer({}, "too late");  // has no effect
  stream->end(false);
}

TEST_F(HttpServerTest, WhatIsNoHttpIsAnsweredSoOrHungUpOn) {
  start({.request_time = Seconds(1)});
  for (const char* const garbage :
       {"\r\n\r\n\r\n", "GET\r\n\r\n", "GET /echo HTTP/9.9\r\n\r\n", "\x16\x03\x01\x02garbage",
        "GET /echo HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\nConnection: close\r\n\r\n"}) {
    const FileDescriptor fd = connect_to(port_);
    write_all(fd, garbage);
    EXPECT_FALSE(contains(read_to_end(fd), " 201 ")) << garbage;
  }
  std::string answer;
  while (answer.empty()) answer = ask(connect_to(port_), "/echo");
  EXPECT_TRUE(contains(answer, " 201 ")) << "and it serves on";
}

}  // namespace
}  // namespace perjoule
