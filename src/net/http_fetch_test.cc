#include "net/http_fetch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "net/test_http_server.h"

namespace perjoule {
namespace {

Result<HttpPage> fetch(const std::string& url, const std::string& path) {
  const RealClock clock;
  PJ_TRY(const auto fetcher, HttpFetcher::create(clock, HttpUrl::parse(url).value(), {}));
  return fetcher->get(path);
}

TEST(HttpFetch, PagesOneAfterTheOtherOverOneConnection) {
  TestHttpServer server([](TestPeer& peer) {
    while (const auto request = peer.read_request()) {
      const bool first = request->find("GET /a HTTP/1.1") == 0;
      peer.send(
          first ? "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst"
                : "HTTP/1.1 404 Not Found\r\nContent-Length: " + std::to_string(1 + peer.number()) +
                      "\r\n\r\n" + std::string(static_cast<std::size_t>(1 + peer.number()), 'x'));
    }
  });
  const RealClock clock;
  const auto fetcher = HttpFetcher::create(clock, HttpUrl::parse(server.url()).value(), {}).value();
  const Instant before = clock.now();
  const auto first = fetcher->get("/a");
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(first->status, 200);
  EXPECT_EQ(first->body, "first");
  EXPECT_LE(before, first->sent);
  EXPECT_LE(first->sent, first->begun);
  const auto second = fetcher->get("/b");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->status, 404);
  EXPECT_EQ(second->body, "x") << "the second answer came over another connection";
}

TEST(HttpFetch, WhatIsNoAnswerIsSaid) {
  TestHttpServer server([](TestPeer& peer) {
    if (peer.read_request()) peer.send("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\ncut");
  });
  const auto cut = fetch(server.url(), "/metrics");
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(cut.error().message.find(server.url() + "/metrics"), std::string::npos)
      << cut.error().message;
  const auto nobody = fetch("http://127.0.0.1:1", "/metrics");
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, ErrorCode::kUnavailable);
}

TEST(HttpFetch, APageThatNeverEndsIsGivenUp) {
  TestHttpServer server([](TestPeer& peer) {
    if (!peer.read_request()) return;
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n");
    for (int i = 0; i < 200; ++i) {
      peer.send(std::string(1000, 'x'));
      ::usleep(10'000);
    }
  });
  const RealClock clock;
  const HttpUrl url = HttpUrl::parse(server.url()).value();
  const auto slow = HttpFetcher::create(clock, url, {}, {.time = Seconds(0.2)}).value()->get("/a");
  ASSERT_FALSE(slow);
  EXPECT_EQ(slow.error().code, ErrorCode::kTimeout);
  const auto large = HttpFetcher::create(clock, url, {}, {.bytes = 5000}).value()->get("/a");
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::kOutOfRange);
}

}  // namespace
}  // namespace perjoule
