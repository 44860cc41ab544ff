// For tests: a reader that keeps what it is told, and a client with its loop.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "net/http_stream.h"

namespace perjoule {

struct TestReader final : HttpReader {
  void sent(Instant at) override { sent_at.push_back(at); }
  void head(const HttpHead& head, Instant at) override {
    EXPECT_FALSE(sent_at.empty());
    EXPECT_EQ(status, 0) << "one head a response";
    status = head.status;
    stamps.push_back(at);
  }
  void body(std::string_view piece, Instant at) override {
    EXPECT_NE(status, 0);
    text += piece;
    stamps.push_back(at);
    if (on_body) on_body();
  }
  void ended(const HttpEnd& told) override {
    EXPECT_FALSE(end) << "one end a request";
    end = told;
    if (on_end) on_end();
  }

  std::vector<Instant> sent_at;
  std::vector<Instant> stamps;
  int status = 0;
  std::string text;
  std::optional<HttpEnd> end;
  std::function<void()> on_body;
  std::function<void()> on_end;
};

/// A client of one server, and what turns it.
struct TestClient {
  explicit TestClient(const std::string& url, HttpClientOptions options = {}) {
    auto made = EventLoop::create(clock);
    EXPECT_TRUE(made) << made.error().text();
    loop = std::move(*made);
    auto opened = HttpClient::create(*loop, HttpUrl::parse(url).value(), options);
    EXPECT_TRUE(opened) << opened.error().text();
    client = std::move(*opened);
  }
  HttpClient::StreamId open(TestReader& reader, HttpRequest request = {}) {
    const auto stream = client->open(std::move(request), reader);
    EXPECT_TRUE(stream) << stream.error().text();
    return stream.value_or(0);
  }
  void turn_until_ended(const TestReader& reader) {
    while (!reader.end) loop->turn();
  }
  TestReader get(const std::string& path = "/") {
    TestReader reader;
    open(reader, {.path = path});
    turn_until_ended(reader);
    return reader;
  }

  RealClock clock;
  std::unique_ptr<EventLoop> loop;
  std::unique_ptr<HttpClient> client;
};

}  // namespace perjoule
