// What a load generator records where a server does not answer as it should.
#include <gtest/gtest.h>

#include <atomic>
#include <stop_token>

#include "serving/load/load_generator.h"
#include "serving/load/test_load_server.h"

namespace perjoule {
namespace {

using namespace test_load_server;
using namespace test_stream;

RequestRecord record_of(TestHttpServer& server, LoadOptions options) {
  options.url = HttpUrl::parse(server.url()).value();
  LoadRun load = run(requests(1), options);
  EXPECT_EQ(load.records.size(), 1U);
  return load.records.empty() ? RequestRecord{} : std::move(load.records.front());
}
/// Of a server that sends these bytes and hangs up.
RequestRecord record_of(const std::string& response) {
  TestHttpServer server([&](TestPeer& peer) {
    peer.read_request();
    peer.send(response);
  });
  return record_of(server, options_for(server.url()));
}

TEST(LoadFailures, ABusyServerIsNotAskedAgain) {
  std::atomic<int> requests_seen = 0;
  TestHttpServer server([&](TestPeer& peer) {
    while (peer.read_request()) {
      ++requests_seen;
      peer.send(body_response("429 Too Many Requests",
                              R"({"error":{"message":"slow down","code":429}})",
                              "Retry-After: 3\r\n"));
    }
  });
  LoadOptions options = options_for(server.url());
  options.load = ClosedLoad{2, 8};
  const LoadRun load = run(requests(1), options);
  ASSERT_EQ(load.records.size(), 8U);
  for (const RequestRecord& record : load.records) {
    EXPECT_EQ(record.failure, Failure::kRefused);
    EXPECT_EQ(record.status, 429);
    EXPECT_EQ(record.message, "status 429: slow down (retry after 3)");
    EXPECT_EQ(record.retries, 0);
    EXPECT_FALSE(record.response.first_token);
  }
  EXPECT_EQ(requests_seen, 8);
}

TEST(LoadFailures, RefusalsInTheServersWords) {
  struct Case {
    std::string response;
    int status;
    std::string message;
  };
  for (const Case& one :
       {Case{body_response("500 Internal Server Error", "out of memory\n"), 500,
             "status 500: out of memory"},
        Case{body_response("400 Bad Request", R"({"object":"error","message":"too long"})"), 400,
             "status 400: too long"},
        Case{body_response("401 Unauthorized", R"({"error":"no token"})"), 401,
             "status 401: no token"},
        Case{body_response("404 Not Found", R"({"detail":"Not Found"})"), 404,
             R"(status 404: {"detail":"Not Found"})"},
        Case{"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", 503, "status 503"},
        Case{"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 100\r\n\r\ncut off", 502,
             "status 502: cut off"},
        Case{body_response("307 Temporary Redirect", "", "Location: http://elsewhere/\r\n"), 307,
             "status 307"}}) {
    const RequestRecord record = record_of(one.response);
    EXPECT_EQ(record.failure, Failure::kRefused) << one.message;
    EXPECT_EQ(record.status, one.status);
    EXPECT_EQ(record.message, one.message);
  }
  const RequestRecord talkative = record_of(body_response("500 x", std::string(1U << 20U, 'x')));
  EXPECT_EQ(talkative.message, "status 500: " + std::string(200, 'x'));
}

TEST(LoadFailures, ResponsesThatEndTooSoon) {
  const std::string whole = answer();
  const std::string token = http_chunk("data: " + chunk("content", "Hello", usage(2)) + "\n\n");
  const RequestRecord none = record_of("");
  EXPECT_EQ(none.failure, Failure::kConnect);
  EXPECT_EQ(none.message, "the connection ended before a response began");
  EXPECT_EQ(none.status, 0);
  const RequestRecord half = record_of(kEventsHead + token);
  EXPECT_EQ(half.failure, Failure::kTruncated);
  EXPECT_EQ(half.status, 200);
  EXPECT_EQ(half.response.tokens.output, 2) << "what came is counted";
  EXPECT_TRUE(half.response.first_token);
  // The body is whole, and its response is not.
  EXPECT_EQ(record_of(kEventsHead + token + kLastChunk).failure, Failure::kTruncated);
  EXPECT_EQ(record_of(kEventsHead + kLastChunk).failure, Failure::kTruncated);
  EXPECT_EQ(record_of("HTTP/1.1 200 OK\r\n").failure, Failure::kTruncated);
  // The response is whole, and only HTTP's own end is missing.
  const RequestRecord done = record_of(whole.substr(0, whole.size() - kLastChunk.size()));
  EXPECT_EQ(done.failure, Failure::kNone) << done.message;
  EXPECT_EQ(done.response.tokens.output, 3);
}

TEST(LoadFailures, ResponsesThatSayWrongThings) {
  const RequestRecord error = record_of(
      events({role(), chunk("content", "Hel"), R"({"error":{"message":"the engine died"}})"}));
  EXPECT_EQ(error.failure, Failure::kErrorInStream);
  EXPECT_EQ(error.message, "the engine died");
  EXPECT_EQ(record_of(events({role(), "{oops", chunk("content", "x"), finish(), "[DONE]"})).failure,
            Failure::kMalformed);
  EXPECT_EQ(record_of(kEventsHead + "no chunk\r\n").failure, Failure::kMalformed);
  EXPECT_EQ(record_of("220 mail.example ESMTP\r\n").failure, Failure::kMalformed);
  EXPECT_EQ(record_of(body_response("200 OK", "[]")).failure, Failure::kMalformed);
}

TEST(LoadFailures, NobodyListens) {
  LoadOptions options;
  {
    TestHttpServer server([](TestPeer&) {});
    options = options_for(server.url());
  }
  options.load = ClosedLoad{2, 5};
  const LoadRun load = run(requests(1), options);
  ASSERT_EQ(load.records.size(), 5U);
  for (const RequestRecord& record : load.records) {
    EXPECT_EQ(record.failure, Failure::kConnect);
    EXPECT_EQ(record.sent, record.ended) << "it never was";
  }
}

TEST(LoadFailures, AKeptConnectionThatEndedIsARetry) {
  TestHttpServer server([](TestPeer& peer) {
    peer.read_request();
    peer.send(answer());
    if (peer.number() == 0) peer.read_request();
  });
  LoadOptions options = options_for(server.url());
  options.load = ClosedLoad{1, 2};
  const LoadRun load = run(requests(1), options);
  EXPECT_TRUE(load.records[1].succeeded()) << load.records[1].message;
  EXPECT_EQ(load.records[1].retries, 1);
}

TEST(LoadFailures, TimeOuts) {
  TestHttpServer server([](TestPeer& peer) {
    if (!peer.read_request()) return;
    const auto send = [&](const std::string& data) {
      peer.send(http_chunk("data: " + data + "\n\n"));
    };
    if (peer.number() > 0) peer.send(kEventsHead);
    if (peer.number() > 1) send(role());
    if (peer.number() > 2) send(chunk("content", "Hello", usage(1)));
    if (peer.number() > 4) {
      send(finish());
      send("[DONE]");
    }
    peer.wait_until_hung_up();
  });
  const Seconds soon(0.03);
  LoadOptions first = options_for(server.url());
  first.timeouts.first_token = soon;
  for (int i = 0; i < 3; ++i) {
    const RequestRecord record = record_of(server, first);
    EXPECT_EQ(record.failure, Failure::kFirstTokenTimeout) << i;
    EXPECT_EQ(record.message, "no token came in time");
  }
  LoadOptions next = options_for(server.url());
  next.timeouts = {.first_token = Seconds(3600), .inter_token = soon};
  const RequestRecord stalled = record_of(server, next);
  EXPECT_EQ(stalled.failure, Failure::kInterTokenTimeout);
  EXPECT_EQ(stalled.response.tokens.output, 1);
  LoadOptions total = options_for(server.url());
  total.timeouts = {.first_token = Seconds(3600), .total = soon};
  EXPECT_EQ(record_of(server, total).failure, Failure::kTotalTimeout);
  // One that is whole, and whose connection does nothing any more.
  total.timeouts.total = Seconds(1);
  EXPECT_EQ(record_of(server, total).failure, Failure::kNone);
}

TEST(LoadFailures, WhatIsOpenAtTheEndIsNoFailureOfTheServers) {
  TestHttpServer server([](TestPeer& peer) {
    while (const auto request = peer.read_request()) {
      if (prompt_of(*request) == "p1") {
        peer.send(kEventsHead + http_chunk("data: " + chunk("content", "Hello") + "\n\n"));
        peer.wait_until_hung_up();
      } else {
        peer.send(answer());
      }
    }
  });
  LoadOptions options = options_for(server.url());
  options.load = ClosedLoad{1, 2};
  options.drain = Seconds(0.2);
  const LoadRun load = run(requests(2), options);
  ASSERT_EQ(load.records.size(), 2U);
  EXPECT_EQ(load.records[0].failure, Failure::kNone);
  EXPECT_EQ(load.records[1].failure, Failure::kCancelledAtEnd);
}

TEST(LoadFailures, ARunThatIsStopped) {
  std::stop_source stop;
  TestHttpServer server([&](TestPeer& peer) {
    while (const auto request = peer.read_request()) {
      if (prompt_of(*request) == "p3") {
        stop.request_stop();
        peer.wait_until_hung_up();
      } else {
        peer.send(answer());
      }
    }
  });
  LoadOptions options = options_for(server.url());
  options.load = ClosedLoad{1, 1'000};
  const LoadRun load = run(requests(1'000), options, stop.get_token());
  ASSERT_EQ(load.records.size(), 4U);
  EXPECT_EQ(load.records[2].failure, Failure::kNone);
  EXPECT_EQ(load.records[3].failure, Failure::kCancelledAtEnd);
  EXPECT_TRUE(run(requests(4), options, stop.get_token()).records.empty());
}

TEST(LoadFailures, WhatIsRefusedForNowComesAgainWhereThatIsAskedFor) {
  std::atomic<int> asked = 0;
  TestHttpServer server([&asked](TestPeer& peer) {
    while (peer.read_request()) {
      const int number = ++asked;
      peer.send(number % 3 == 0 ? answer()
                                : body_response(number % 2 == 0 ? "429 Too Many Requests"
                                                                : "503 Service Unavailable",
                                                "busy", "Retry-After: 0.01\r\n"));
    }
  });
  LoadOptions options = options_for(server.url());
  options.load = ClosedLoad{1, 4};
  options.most_retries = 2;
  const LoadRun patient = run(requests(4), options);
  ASSERT_EQ(patient.records.size(), 4u);
  for (const RequestRecord& record : patient.records) {
    EXPECT_TRUE(record.succeeded()) << record.message;
    EXPECT_EQ(record.retries, 2);
    EXPECT_GE(record.sent - record.scheduled, Seconds(0.02));
  }
  EXPECT_EQ(asked, 12);
  asked = 0;
  options.most_retries = 1;
  const LoadRun less = run(requests(4), options);
  EXPECT_EQ(less.records[0].retries, 1);
  EXPECT_EQ(less.records[0].failure, Failure::kRefused);
  asked = 0;
  options.most_retries = 0;
  const LoadRun none = run(requests(4), options);
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(none.records[0].failure, Failure::kRefused);
  EXPECT_TRUE(none.records[2].succeeded());
}

TEST(LoadFailures, AStopEndsTheWaitToComeAgain) {
  std::stop_source stop;
  TestHttpServer server([&stop](TestPeer& peer) {
    while (peer.read_request()) {
      peer.send(body_response("429 Too Many Requests", "busy", "Retry-After: 500\r\n"));
      stop.request_stop();
    }
  });
  LoadOptions options = options_for(server.url());
  options.load = ClosedLoad{1, 1};
  options.most_retries = 5;
  const LoadRun made = run(requests(1), options, stop.get_token());
  ASSERT_EQ(made.records.size(), 1u);
  EXPECT_NE(made.records[0].failure, Failure::kNone);
}

}  // namespace
}  // namespace perjoule
