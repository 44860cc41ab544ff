#include "serving/bench/bench_run.h"

#include <gtest/gtest.h>

#include <atomic>

#include "serving/bench/bench_figures.h"
#include "serving/load/test_load_server.h"

namespace perjoule {
namespace {

using namespace test_load_server;

std::string metrics_text(int tokens) {
  return "vllm:generation_tokens_total{model_name=\"m\"} " + std::to_string(tokens) + "\n";
}

/// Answers every request for a page with `page()`, and every other with an answer.
auto serving(std::function<std::string()> page) {
  return [page = std::move(page)](TestPeer& peer) {
    while (const auto request = peer.read_request())
      peer.send(request->find("GET ") == 0 ? page() : answer());
  };
}

/// 250 W, always.
class ConstantGauge final : public Source {
 public:
  ConstantGauge() {
    info_.id = info_.device = "gpu:a";
    info_.kind = SourceKind::kPowerGauge;
    info_.tick = Seconds(0.01);
    info_.max_power = Watts(400);
    info_.status = Status::kMeasured;
  }
  const SourceInfo& info() const noexcept override { return info_; }
  Reading read() noexcept override { return {ErrorCode::kOk, 250'000'000}; }

 private:
  SourceInfo info_;
};

TEST(EngineWatch, LooksAgainAndAgainAndOnceAtTheEnd) {
  std::atomic<int> tokens = 0;
  TestHttpServer server(serving([&tokens] {
    const int now = ++tokens;
    return now == 2 ? body_response("500 Internal Server Error", "no")
                    : body_response("200 OK", metrics_text(now));
  }));
  const RealClock clock;
  auto reader = EngineReader::create(clock, HttpUrl::parse(server.url()).value(), "");
  ASSERT_TRUE(reader) << reader.error().text();
  auto watch = EngineWatch::start(std::move(*reader), Seconds(0.01));
  ASSERT_TRUE(watch) << watch.error().text();
  while (tokens < 5) clock.sleep_until(clock.now() + Seconds(0.001));
  const EngineCourse course = (*watch)->stop();
  EXPECT_EQ(course.failed, 1u);
  EXPECT_NE(course.last_failure.find("status 500"), std::string::npos) << course.last_failure;
  ASSERT_GE(course.scrapes.size(), 4u);
  for (std::size_t i = 1; i < course.scrapes.size(); ++i)
    EXPECT_LE(course.scrapes[i - 1].at, course.scrapes[i].at);
}

TEST(EngineWatch, WhatIsNoPageOfAServersIsSaidAtOnce) {
  TestHttpServer server(serving([] { return body_response("200 OK", "up 1\n"); }));
  const RealClock clock;
  auto reader = EngineReader::create(clock, HttpUrl::parse(server.url() + "/stats").value(), "");
  ASSERT_TRUE(reader);
  EXPECT_EQ((*reader)->where(), server.url() + "/stats");
  const auto watch = EngineWatch::start(std::move(*reader), Seconds(1));
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().code, ErrorCode::kNotFound);
}

TEST(BenchRun, LoadMetersAndCountersAreOfOneClock) {
  std::atomic<int> tokens = 0;
  TestHttpServer server(
      serving([&tokens] { return body_response("200 OK", metrics_text(tokens += 5)); }));
  const RealClock clock;
  ConstantGauge gauge;
  Meter meter({&gauge}, clock, 1U << 20U);
  BenchSettings settings;
  settings.load = options_for(server.url());
  settings.load.load = ClosedLoad{2, 40};
  settings.metrics = HttpUrl::parse(server.url()).value();
  settings.metrics_every = Seconds(0.01);
  settings.every = Seconds(0.01);
  const auto run = run_bench(meter, requests(40), settings);
  ASSERT_TRUE(run) << run.error().text();
  ASSERT_EQ(run->load.records.size(), 40u);
  ASSERT_EQ(run->courses.size(), 1u);
  const Timeline& course = *run->courses[0].timeline;
  EXPECT_LT(course.time(0), run->load.begun);
  EXPECT_GT(course.time(course.size() - 1), run->load.ended);
  EXPECT_GE(run->engine.scrapes.size(), 2u);
  const auto figures = bench_figures(*run, {.window = WindowChoice::kWholeRun});
  ASSERT_TRUE(figures) << figures.error().text();
  EXPECT_NEAR(figures->power.value(), 250, 1);
  EXPECT_EQ(figures->rule().totals.output_tokens, 120);
}

TEST(BenchFigures, MetersElsewhereAreAddedToOurs) {
  TestHttpServer server(serving([] { return body_response("404 Not Found", ""); }));
  const RealClock clock;
  Meter meter({}, clock, 1U << 20U);
  BenchSettings settings;
  settings.load = options_for(server.url());
  settings.load.load = ClosedLoad{2, 10};
  const auto run = run_bench(meter, requests(10), settings);
  ASSERT_TRUE(run) << run.error().text();
  BenchAsk ask{.window = WindowChoice::kWholeRun};
  ask.remote = [](Instant from, Instant until) {
    SourceMeasurement source;
    source.info.id = source.info.device = "gpu:b";
    source.energy.joules = Watts(100) * (until - from);
    source.energy.source = "gpu:b";
    source.energy.status = Status::kMeasured;
    return std::vector<SourceMeasurement>{source};
  };
  const auto figures = bench_figures(*run, ask);
  ASSERT_TRUE(figures) << figures.error().text();
  EXPECT_NEAR(figures->power.value(), 100, 1e-6);
  EXPECT_EQ(figures->output_token.status, Status::kMeasured);
}

}  // namespace
}  // namespace perjoule
