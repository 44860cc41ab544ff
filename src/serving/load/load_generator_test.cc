#include "serving/load/load_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "net/test_certificate.h"
#include "serving/load/test_load_server.h"

namespace perjoule {
namespace {

using namespace test_load_server;
using testing::HasSubstr;
using testing::Not;

/// Lets no request be answered before so many are here.
class Gate {
 public:
  explicit Gate(std::size_t count) : missing_(count) {}
  void pass() {
    std::unique_lock lock(mutex_);
    if (missing_ > 0) --missing_;
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::seconds(60), [this] { return missing_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t missing_;  ///< guarded by mutex_
};

/// What requests came, in their order.
class Seen {
 public:
  void add(const std::string& request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
  }
  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  std::vector<std::string> prompts() const {
    std::vector<std::string> names;
    for (const std::string& request : requests()) names.push_back(prompt_of(request));
    return names;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;  ///< guarded by mutex_
};

TestHttpServer::Script answering(Seen& seen) {
  return [&seen](TestPeer& peer) {
    while (const auto request = peer.read_request()) {
      seen.add(*request);
      peer.send(answer());
    }
  };
}

TEST(LoadGenerator, AClosedLoad) {
  Seen seen;
  TestHttpServer server(answering(seen));
  LoadOptions options = options_for(server.url());
  options.load = ClosedLoad{3, 30};
  const LoadRun load = run(requests(10), options);
  ASSERT_EQ(load.records.size(), 30U);
  EXPECT_EQ(load.connections, 3U) << "a place keeps its connection";
  EXPECT_FALSE(load.bottleneck);
  std::size_t refilled = 0;
  for (const RequestRecord& record : load.records) {
    EXPECT_EQ(record.failure, Failure::kNone) << record.message;
    EXPECT_EQ(record.status, 200);
    EXPECT_EQ(record.retries, 0);
    const Response& response = record.response;
    EXPECT_EQ(response.tokens.output, 3);
    EXPECT_EQ(response.tokens.prompt, 7);
    EXPECT_EQ(response.tokens.source, CountSource::kUsage);
    EXPECT_EQ(test_stream::tokens_of(response), (std::vector<std::uint32_t>{2, 1}));
    EXPECT_LE(load.begun, record.scheduled);
    EXPECT_LE(record.scheduled, record.sent);
    EXPECT_LE(record.sent, *response.first_byte);
    EXPECT_LE(*response.first_byte, *response.first_token);
    EXPECT_LE(*response.first_token, *response.last_chunk);
    EXPECT_LE(*response.last_chunk, record.ended);
    EXPECT_LE(record.ended, load.ended);
    for (const RequestRecord& before : load.records)
      refilled += record.scheduled == before.ended ? 1U : 0U;
  }
  EXPECT_EQ(refilled, 27U) << "a request is scheduled when a place comes free";
  const auto prompts = seen.prompts();
  EXPECT_EQ(std::count(prompts.begin(), prompts.end(), "p4"), 3) << "the set begins again";
}

TEST(LoadGenerator, APlaceIsRefilledThoughAnotherStandsStill) {
  // The first is answered after all others: a load that went in batches would never end.
  Gate gate(10);
  TestHttpServer server([&](TestPeer& peer) {
    while (const auto request = peer.read_request()) {
      if (prompt_of(*request) == "p0") {
        gate.pass();
      } else if (prompt_of(*request) == "p9") {
        for (int i = 0; i < 9; ++i) std::thread([&] { gate.pass(); }).detach();
      }
      peer.send(answer());
    }
  });
  LoadOptions options = options_for(server.url());
  options.load = ClosedLoad{2, 10};
  const LoadRun load = run(requests(10), options);
  for (const RequestRecord& record : load.records) EXPECT_TRUE(record.succeeded());
  EXPECT_LE(load.records[9].sent, load.records[0].ended);
}

TEST(LoadGenerator, AnOpenLoadSendsWhateverTheServerDoes) {
  // Nobody is answered before all are here, which a closed load would wait for in vain.
  constexpr std::size_t kRequests = 24;
  Gate gate(kRequests);
  TestHttpServer server([&](TestPeer& peer) {
    if (!peer.read_request()) return;
    gate.pass();
    peer.send(answer());
    peer.wait_until_hung_up();
  });
  LoadOptions options = options_for(server.url());
  OpenLoad open;
  for (std::size_t i = 0; i < kRequests; ++i)
    open.times.push_back(Seconds(0.001 * static_cast<double>(i / 2)));
  options.load = open;
  const LoadRun load = run(requests(kRequests), options);
  ASSERT_EQ(load.records.size(), kRequests);
  for (std::size_t i = 0; i < kRequests; ++i) {
    EXPECT_TRUE(load.records[i].succeeded()) << load.records[i].message;
    EXPECT_EQ(load.records[i].scheduled, load.begun + open.times[i]);
    EXPECT_LE(load.records[i].scheduled, load.records[i].sent);
  }
  EXPECT_EQ(load.connections, kRequests);
  EXPECT_LE(load.send_delay.median, load.send_delay.p99);
  EXPECT_LE(load.send_delay.p99, load.send_delay.longest);
}

TEST(LoadGenerator, ResponsesCutAtEveryByte) {
  const std::string response = answer();
  std::atomic<std::size_t> cut = 0;
  TestHttpServer server([&](TestPeer& peer) {
    while (peer.read_request()) {
      const std::size_t at = cut++;
      if (at == 0) {
        peer.send_in_pieces(response, 1);
      } else {
        peer.send(std::string_view(response).substr(0, at));
        std::this_thread::yield();
        peer.send(std::string_view(response).substr(at));
      }
    }
  });
  LoadOptions options = options_for(server.url());
  options.load = ClosedLoad{1, response.size()};
  for (const RequestRecord& record : run(requests(1), options).records) {
    EXPECT_TRUE(record.succeeded()) << record.message;
    EXPECT_EQ(test_stream::tokens_of(record.response), (std::vector<std::uint32_t>{2, 1}));
  }
}

TEST(LoadGenerator, Tls) {
  const auto certificate = test_certificate::make();
  const auto context = test_certificate::server_context(certificate);
  const std::string trusted =
      testing::TempDir() + "load-trusted-" + std::to_string(getpid()) + ".pem";
  test_certificate::write(certificate, trusted);
  Seen seen;
  TestHttpServer server(answering(seen), AF_INET, context.get());
  LoadOptions options = options_for(server.url());
  options.http.tls.authorities = trusted;
  options.load = ClosedLoad{2, 6};
  for (const RequestRecord& record : run(requests(2), options).records)
    EXPECT_TRUE(record.succeeded()) << record.message;
  std::filesystem::remove(trusted);
}

TEST(LoadGenerator, AResponseThatIsNotStreamed) {
  TestHttpServer server([](TestPeer& peer) {
    while (peer.read_request()) {
      peer.send(body_response(
          "200 OK", R"({"choices":[{"index":0,"text":"Hello","finish_reason":"stop"}],"usage":{)"
                    R"("prompt_tokens":7,"completion_tokens":3,"total_tokens":10}})"));
    }
  });
  LoadOptions options = options_for(server.url());
  // A server that does not stream although it is asked to is read all the same.
  for (const bool is_streamed : {false, true}) {
    const LoadRun load = run(requests(1, {.is_streamed = is_streamed}), options);
    ASSERT_EQ(load.records.size(), 1U);
    EXPECT_TRUE(load.records[0].succeeded()) << load.records[0].message;
    EXPECT_FALSE(load.records[0].response.is_streamed);
    EXPECT_EQ(load.records[0].response.tokens.output, 3);
  }
}

TEST(LoadGenerator, TheRequestAsItIsSent) {
  Seen seen;
  TestHttpServer server(answering(seen));
  LoadOptions options = options_for(server.url());
  options.fields = {{"X-Team", "blue"}};
  options.token_variable = "PERJOULE_TEST_TOKEN";
  ::setenv("PERJOULE_TEST_TOKEN", " sesame\n", 1);
  run(requests(1), options);
  ::unsetenv("PERJOULE_TEST_TOKEN");
  run(requests(1, {.is_streamed = false}), options);
  const auto sent = seen.requests();
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_THAT(sent[0], HasSubstr("POST /v1/completions HTTP/1.1\r\n"));
  EXPECT_THAT(sent[0], HasSubstr("\r\nContent-Type: application/json\r\n"));
  EXPECT_THAT(sent[0], HasSubstr("\r\nAccept: text/event-stream\r\n"));
  EXPECT_THAT(sent[0], HasSubstr("\r\nAuthorization: Bearer sesame\r\n"));
  EXPECT_THAT(sent[0], HasSubstr("\r\nX-Team: blue\r\n"));
  EXPECT_THAT(sent[0], HasSubstr(*requests(1).requests.front().body));
  EXPECT_THAT(sent[1], Not(HasSubstr("Authorization")));
  EXPECT_THAT(sent[1], HasSubstr("\r\nAccept: application/json\r\n"));
}

TEST(LoadGenerator, ATokenThatBreaksTheProtocolIsNotSentAndNotShown) {
  Seen seen;
  TestHttpServer server(answering(seen));
  LoadOptions options = options_for(server.url());
  options.token_variable = "PERJOULE_TEST_TOKEN";
  ::setenv("PERJOULE_TEST_TOKEN", "sesame\r\nX-Evil: 1", 1);
  const RealClock clock;
  const auto load = generate_load(requests(1), options, clock);
  ::unsetenv("PERJOULE_TEST_TOKEN");
  ASSERT_FALSE(load);
  EXPECT_EQ(load.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(load.error().text(), Not(HasSubstr("sesame")));
  EXPECT_TRUE(seen.requests().empty());
}

TEST(LoadGenerator, TheWarmUpIsAwaitedAndLeftOut) {
  Seen seen;
  TestHttpServer server(answering(seen));
  LoadOptions options = options_for(server.url());
  options.warm_up = 4;
  options.load = ClosedLoad{2, 6};
  const LoadRun load = run(requests(8), options);
  EXPECT_EQ(load.records.size(), 6U);
  auto prompts = seen.prompts();
  ASSERT_EQ(prompts.size(), 10U);
  std::sort(prompts.begin(), prompts.begin() + 4);
  EXPECT_THAT(std::vector(prompts.begin(), prompts.begin() + 4),
              testing::ElementsAre("p0", "p1", "p2", "p3"));
  std::sort(prompts.begin() + 4, prompts.end());
  EXPECT_THAT(std::vector(prompts.begin() + 4, prompts.end()),
              testing::ElementsAre("p0", "p1", "p4", "p5", "p6", "p7"));
}

TEST(LoadGenerator, AWarmUpThatFailsEndsTheRun) {
  TestHttpServer server([](TestPeer& peer) {
    while (peer.read_request())
      peer.send(body_response("404 Not Found", R"({"error":{"message":"no such model"}})"));
  });
  LoadOptions options = options_for(server.url());
  options.warm_up = 2;
  const RealClock clock;
  const auto load = generate_load(requests(8), options, clock);
  ASSERT_FALSE(load);
  EXPECT_EQ(load.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(load.error().message,
            "the server answered no request of the warm-up: refused: status 404: no such model");
}

TEST(LoadGenerator, ItSaysWhenItWasTheBottleneck) {
  Seen seen;
  TestHttpServer server(answering(seen));
  LoadOptions options = options_for(server.url());
  options.load = OpenLoad{{Seconds(0), Seconds(0.001), Seconds(0.002)}};
  options.most_delay = Seconds(0);  // which nobody keeps
  const LoadRun load = run(requests(1), options);
  ASSERT_TRUE(load.bottleneck);
  EXPECT_EQ(load.bottleneck->code, ErrorCode::kUnavailable);
  EXPECT_THAT(load.bottleneck->message, HasSubstr("the client was the bottleneck"));
  EXPECT_EQ(load.records.size(), 3U) << "what was measured is there to be looked at";
}

/// A run on a clock that stands still until a response is counted, which then takes two hours.
LoadRun run_with_slow_counting(std::variant<OpenLoad, ClosedLoad> load) {
  Seen seen;
  TestHttpServer server(answering(seen));
  VirtualClock clock;
  LoadOptions options = options_for(server.url());
  options.load = std::move(load);
  options.stream.tokenizer = [&clock](std::string_view) {
    clock.advance(Seconds(7200));
    return std::int64_t{3};
  };
  auto made = generate_load(requests(2), options, clock);
  EXPECT_TRUE(made) << made.error().text();
  return made ? std::move(*made) : LoadRun{};
}

TEST(LoadGenerator, AClientThatSendsLateRefusesTheRunAndSaysSo) {
  // The second request's place came free before the first one's tokens were counted.
  const LoadRun load = run_with_slow_counting(ClosedLoad{1, 2});
  ASSERT_TRUE(load.bottleneck);
  EXPECT_EQ(load.bottleneck->code, ErrorCode::kUnavailable);
  EXPECT_EQ(load.send_delay.longest, Seconds(7200));
  EXPECT_THAT(load.bottleneck->message,
              HasSubstr("one in a hundred of its requests was sent late, by more than " +
                        to_text(Seconds(7200), 3)));
  EXPECT_THAT(load.bottleneck->message, HasSubstr(to_text(Seconds(3600), 3) + " that are allowed"));
  EXPECT_THAT(load.bottleneck->text(), HasSubstr("give it a processor of its own"));
}

TEST(LoadGenerator, AClientThatStampsLateRefusesTheRunAndSaysSo) {
  const LoadRun load = run_with_slow_counting(OpenLoad{{Seconds(0)}});
  ASSERT_TRUE(load.bottleneck);
  EXPECT_EQ(load.send_delay.longest, Seconds(0));
  EXPECT_GT(load.loop_delay.longest, Seconds(7100));
  EXPECT_THAT(load.bottleneck->message,
              HasSubstr("one in a hundred of its looks at the clock was late"));
}

TEST(LoadGenerator, NothingIsSentAfterTheTimeForSending) {
  Seen seen;
  TestHttpServer server(answering(seen));
  LoadOptions options = options_for(server.url());
  options.load = ClosedLoad{4, 1'000'000};
  options.send_for = Seconds(0.05);
  const LoadRun load = run(requests(4), options);
  EXPECT_LT(load.records.size(), 1'000'000U);
  for (const RequestRecord& record : load.records) EXPECT_TRUE(record.succeeded());
  options.send_for = Seconds(0);
  EXPECT_TRUE(run(requests(4), options).records.empty());
  options.load = OpenLoad{{Seconds(0), Seconds(0), Seconds(3600)}};
  options.send_for = Seconds(0.05);
  EXPECT_EQ(run(requests(4), options).records.size(), 2U);
}

TEST(LoadGenerator, LoadsThatAreNone) {
  const RealClock clock;
  const auto code_of = [&](const RequestSet& set, const LoadOptions& options) {
    const auto load = generate_load(set, options, clock);
    return load ? ErrorCode::kOk : load.error().code;
  };
  LoadOptions options = options_for("http://127.0.0.1:9");
  EXPECT_EQ(code_of({}, options), ErrorCode::kInvalidArgument);
  for (const auto& load : {ClosedLoad{0, 1}, ClosedLoad{1, 0}}) {
    options.load = load;
    EXPECT_EQ(code_of(requests(1), options), ErrorCode::kInvalidArgument);
  }
  options.load = OpenLoad{};
  EXPECT_EQ(code_of(requests(1), options), ErrorCode::kInvalidArgument);
  options.load = OpenLoad{{Seconds(1), Seconds(0)}};
  EXPECT_EQ(code_of(requests(1), options), ErrorCode::kInvalidArgument);
  options.load = ClosedLoad{std::size_t{1} << 40U, std::size_t{1} << 40U};
  EXPECT_EQ(code_of(requests(1), options), ErrorCode::kOutOfRange);
}

}  // namespace
}  // namespace perjoule
