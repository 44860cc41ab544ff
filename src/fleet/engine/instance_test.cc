#include "fleet/engine/instance.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "math/random.h"

namespace perjoule {
namespace {

/// 10 ms a step, 1 ms more for each prompt token; 5 J a step, 1 J a prompt token.
class PlainSteps final : public StepModel {
 public:
  explicit PlainSteps(std::int64_t cache_tokens)
      : StepModel({.layout = {},
                   .clocks_mhz = {1000, 2000},
                   .idle = {Watts(10), Watts(20)},
                   .cache_tokens = cache_tokens}) {}
  StepCost cost(const StepBatch& batch, std::size_t clock) const noexcept override {
    std::int64_t tokens = 0;
    for (const PrefillChunk& chunk : batch.chunks) tokens += chunk.tokens;
    EXPECT_EQ(tokens, batch.prefill_tokens);
    EXPECT_LE(batch.context, traits().cache_tokens);
    const double slower = clock == 1 ? 1 : 2;
    const auto prompt = static_cast<double>(tokens);
    return {Seconds(slower * (0.010 + 0.001 * prompt)), Joules(5 + prompt)};
  }
};

struct Ended {
  RequestEnd end = RequestEnd::kFailed;
  double first = 0;
  double last = 0;
  int times = 0;
};

class Recorder final : public EngineSink {
 public:
  explicit Recorder(LiveRequests& live) : live_(live) {}
  void gaps(std::size_t, Seconds gap, std::int64_t requests) override {
    gaps_ += requests;
    gap_time_ += gap.value() * static_cast<double>(requests);
  }
  void ended(RequestSlot slot, RequestEnd end, Seconds when) override {
    const LiveRequest& request = live_[slot];
    Ended& one = ended_[request.number];
    one = {end, request.first_token.value(), when.value(), one.times + 1};
    span_ += (when - request.first_token).value();
    live_.release(slot);
  }
  std::map<std::uint64_t, Ended> ended_;
  std::int64_t gaps_ = 0;
  double gap_time_ = 0;
  double span_ = 0;

 private:
  LiveRequests& live_;
};

struct Bench {
  explicit Bench(std::int64_t cache = 1'000'000, EngineLimits limits = {})
      : model(cache), sink(live), instance(model, limits, live, sink, Seconds(0)) {}
  void take(double at, std::int64_t prompt, std::int64_t output, double deadline = 0) {
    instance.advance(Seconds(at));
    LiveRequest request;
    request.arrival = Seconds(at);
    request.number = next++;
    request.prompt = prompt;
    request.output = output;
    request.deadline = Seconds(deadline);
    instance.take(live.add(request));
  }
  PlainSteps model;
  LiveRequests live;
  Recorder sink;
  Instance instance;
  std::uint64_t next = 0;
};

TEST(InstanceTest, OneRequestTakesItsPromptAndAStepAToken) {
  Bench bench;
  bench.take(1, 100, 3);
  bench.instance.advance(Seconds(2));
  const Ended one = bench.sink.ended_.at(0);
  EXPECT_EQ(one.end, RequestEnd::kDone);
  EXPECT_NEAR(one.first, 1.110, 1e-12);
  EXPECT_NEAR(one.last, 1.130, 1e-12);
  const EngineUse& use = bench.instance.use();
  EXPECT_EQ(use.steps, 3);
  EXPECT_NEAR(use.busy.value(), 115, 1e-12);
  EXPECT_NEAR(use.busy_time.value(), 0.130, 1e-12);
  EXPECT_NEAR(use.idle_time.value(), 1.870, 1e-12);
  EXPECT_NEAR(use.idle.value(), 37.4, 1e-9);
  EXPECT_EQ(use.prefill_tokens, 100);
  EXPECT_EQ(use.decode_tokens, 2);
  EXPECT_EQ(bench.instance.cache_used(), 0);
  EXPECT_TRUE(bench.instance.is_idle());
}

TEST(InstanceTest, APromptIsComputedInChunksBesideTheRunning) {
  Bench bench(1'000'000, {.most_running = 8, .step_tokens = 51});
  bench.take(0, 10, 100);
  bench.take(0.015, 100, 1);  // in the first one's first step: 20 ms
  bench.instance.advance(Seconds(10));
  // Two chunks of 50 beside one decode.
  EXPECT_NEAR(bench.sink.ended_.at(1).first, 0.020 + 2 * 0.060, 1e-12);
  EXPECT_EQ(bench.sink.ended_.at(1).last, bench.sink.ended_.at(1).first);
  EXPECT_EQ(bench.sink.gaps_, 99);
  EXPECT_NEAR(bench.sink.gap_time_, bench.sink.span_, 1e-9);
}

TEST(InstanceTest, ALowerClockHoldsFromTheNextStepOn) {
  Bench bench;
  bench.take(0, 10, 3);
  bench.instance.advance(Seconds(0.005));
  bench.instance.set_clock(0);
  bench.instance.advance(Seconds(1));
  EXPECT_NEAR(bench.sink.ended_.at(0).last, 0.020 + 2 * 0.020, 1e-12);
  EXPECT_NEAR(bench.instance.use().idle.value(), 10 * 0.94, 1e-9);
}

TEST(InstanceTest, NoMoreRunThanMayAndThoseThatWaitKeepTheirOrder) {
  Bench bench(1'000'000, {.most_running = 1, .step_tokens = 100});
  for (int i = 0; i < 3; ++i) bench.take(0, 10, 2, 3 - i);
  bench.instance.advance(Seconds(0.001));
  EXPECT_EQ(bench.instance.running(), 1);
  EXPECT_EQ(bench.instance.waiting(), 2);
  EXPECT_EQ(bench.instance.waiting_tokens(), 30);  // the first one's are under way
  bench.instance.advance(Seconds(10));
  EXPECT_LT(bench.sink.ended_.at(1).last, bench.sink.ended_.at(2).last);
  EXPECT_EQ(bench.instance.waiting_tokens(), 0);
  // In an emergency the one whose deadline is first.
  Bench other(1'000'000, {.most_running = 1, .step_tokens = 100});
  other.instance.order_by_deadline(true);
  for (int i = 0; i < 3; ++i) other.take(0, 10, 2, 3 - i);
  other.instance.advance(Seconds(10));
  EXPECT_LT(other.sink.ended_.at(2).last, other.sink.ended_.at(1).last);
}

TEST(InstanceTest, WhereTheCacheRunsOverTheLastComesAgain) {
  // Each fits alone; both of them do not until their ends.
  Bench bench(60, {.most_running = 8, .step_tokens = 100});
  bench.take(0, 10, 40);
  bench.take(0, 10, 40);
  bench.instance.advance(Seconds(10));
  EXPECT_GE(bench.instance.use().preemptions, 1);
  EXPECT_EQ(bench.sink.ended_.at(0).times, 1);
  EXPECT_EQ(bench.sink.ended_.at(1).times, 1);
  EXPECT_LT(bench.sink.ended_.at(0).last, bench.sink.ended_.at(1).last);
  EXPECT_EQ(bench.sink.gaps_, 2 * 39);
  EXPECT_NEAR(bench.sink.gap_time_, bench.sink.span_, 1e-9);
  EXPECT_EQ(bench.instance.cache_used(), 0);
}

TEST(InstanceTest, WhatIsGivenBackGoesOnElsewhere) {
  Bench bench;
  bench.take(0, 10, 10);
  bench.take(0, 20, 10);
  bench.instance.advance(Seconds(0.075));  // 40 ms for both prompts, then 3 steps and a half
  const std::vector<RequestSlot> slots = bench.instance.give_back_all(Seconds(0.075));
  ASSERT_EQ(slots.size(), 2U);
  EXPECT_TRUE(bench.instance.is_idle());
  EXPECT_EQ(bench.instance.cache_used(), 0);
  EXPECT_EQ(bench.instance.waiting_tokens(), 0);
  EXPECT_EQ(bench.live[slots[0]].generated, 4);
  EXPECT_NEAR(bench.instance.use().busy_time.value(), 0.075, 1e-12);
  EXPECT_NEAR(bench.instance.use().busy.value(), 35 + 3.5 * 5, 1e-9);
  Instance other(bench.model, {}, bench.live, bench.sink, Seconds(1));
  for (const RequestSlot slot : slots) other.take(slot);
  other.advance(Seconds(10));
  EXPECT_EQ(bench.sink.ended_.at(0).times, 1);
  EXPECT_EQ(bench.sink.gaps_, 18);
  EXPECT_NEAR(bench.sink.gap_time_, bench.sink.span_, 1e-9);
}

/// Whatever comes: all end, once; tokens, gaps and times add up.
RC_GTEST_PROP(InstanceTest, AllEndOnceAndEverythingAddsUp, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Random random(seed);
  const auto cache = static_cast<std::int64_t>(40 + random.below(400));
  Bench bench(cache, {.most_running = static_cast<std::int64_t>(1 + random.below(12)),
                      .step_tokens = static_cast<std::int64_t>(1 + random.below(64))});
  const std::size_t count = 1 + random.below(40);
  double now = 0;
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < count; ++i) {
    now += random.uniform() * 0.2;
    const auto prompt = static_cast<std::int64_t>(1 + random.below(30));
    const auto output = static_cast<std::int64_t>(
        1 + random.below(static_cast<std::uint64_t>(std::min<std::int64_t>(cache - prompt, 60))));
    tokens += output - 1;
    bench.take(now, prompt, output, now + random.uniform());
    if (random.below(8) == 0) bench.instance.order_by_deadline(random.below(2) == 0);
    if (random.below(8) == 0) bench.instance.set_clock(random.below(2));
    if (random.below(8) == 0) {
      bench.instance.advance(Seconds(now));
      auto back = random.below(2) == 0 ? bench.instance.give_back_all(Seconds(now))
                                       : bench.instance.give_back_waiting();
      for (const RequestSlot slot : back) bench.instance.take(slot);
    }
  }
  bench.instance.advance(Seconds(1e4));
  RC_ASSERT(bench.instance.is_idle());
  RC_ASSERT(bench.live.alive() == 0U);
  RC_ASSERT(bench.sink.ended_.size() == count);
  for (const auto& [number, one] : bench.sink.ended_) RC_ASSERT(one.times == 1);
  RC_ASSERT(bench.sink.gaps_ == tokens);
  RC_ASSERT(std::abs(bench.sink.gap_time_ - bench.sink.span_) < 1e-6);
  RC_ASSERT(bench.instance.cache_used() == 0);
  RC_ASSERT(bench.instance.waiting_tokens() == 0);
  const EngineUse& use = bench.instance.use();
  RC_ASSERT(std::abs((use.busy_time + use.idle_time).value() - 1e4) < 1e-6);
}

}  // namespace
}  // namespace perjoule
