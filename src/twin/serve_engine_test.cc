#include "twin/serve_engine.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "twin/serve_text.h"

namespace perjoule::twin {
namespace {

constexpr Seconds kStep{0.01};

std::vector<std::uint32_t> prompt_of(int tokens, std::uint32_t first = 1) {
  std::vector<std::uint32_t> prompt;
  for (int i = 0; i < tokens; ++i)
    prompt.push_back(first * 100'000 + static_cast<std::uint32_t>(i));
  return prompt;
}

Generation answer_of(int tokens, int prompt = 8, std::uint32_t first = 1) {
  return {.prompt = prompt_of(prompt, first), .max_tokens = tokens, .ignore_eos = true};
}

/// An engine and what its clients have received.
struct Bench {
  explicit Bench(const EngineSettings& settings) : engine(settings) {}

  SequenceId add(Generation generation) {
    const auto id = engine.add(std::move(generation), now);
    EXPECT_TRUE(id) << id.error().text();
    return id.value_or(0);
  }
  std::optional<EngineStep> step() {
    const auto planned = engine.next_step(now);
    now = now + kStep;
    if (!planned) return planned;
    for (const TokenDelta& delta : engine.finish_step(now)) {
      received[delta.id].push_back(delta);
      text[delta.id] += delta.text;
    }
    return planned;
  }
  void run() {
    for (int i = 0; step() && i < 100'000; ++i) {
    }
  }
  int tokens(SequenceId id) {
    int sum = 0;
    for (const TokenDelta& delta : received[id]) sum += delta.tokens;
    return sum;
  }
  std::optional<FinishReason> finish(SequenceId id) {
    return received[id].empty() ? std::nullopt : received[id].back().finish;
  }

  ServeEngine engine;
  Instant now{1'000'000};
  std::map<SequenceId, std::vector<TokenDelta>> received;
  std::map<SequenceId, std::string> text;
};

EngineSettings roomy() { return {.kv_blocks = 1000, .context_tokens = 4096}; }

TEST(ServeEngine, PrefillGivesTheFirstTokenAndEachDecodeOneMore) {
  Bench bench(roomy());
  const SequenceId one = bench.add(answer_of(3));
  const SequenceId other = bench.add(answer_of(2, 20, 2));
  auto step = bench.step();
  ASSERT_TRUE(step);
  EXPECT_EQ(step->kind, StepKind::kPrefill);
  EXPECT_EQ(step->requests, 2);
  EXPECT_EQ(step->tokens, 28);
  EXPECT_EQ(bench.tokens(one), 1);
  step = bench.step();
  EXPECT_EQ(step->kind, StepKind::kDecode);
  EXPECT_EQ(step->tokens, 2);
  EXPECT_EQ(bench.finish(other), FinishReason::kLength);
  step = bench.step();
  EXPECT_EQ(step->requests, 1);
  EXPECT_EQ(bench.finish(one), FinishReason::kLength);
  EXPECT_FALSE(bench.step());
  EXPECT_EQ(bench.engine.gauges().cache_usage, 0);
}

TEST(ServeEngine, LaterRequestsAreLetInWhileOthersRun) {
  Bench bench(roomy());
  bench.add(answer_of(10));
  bench.step();
  bench.step();
  bench.add(answer_of(10, 8, 2));
  EXPECT_EQ(bench.step()->kind, StepKind::kPrefill);
  EXPECT_EQ(bench.step()->tokens, 2);
}

TEST(ServeEngine, TheRunningSetIsBounded) {
  EngineSettings settings = roomy();
  settings.max_num_seqs = 2;
  Bench bench(settings);
  for (std::uint32_t i = 1; i <= 3; ++i) bench.add(answer_of(4, 8, i));
  EXPECT_EQ(bench.step()->requests, 2);
  EXPECT_EQ(bench.engine.gauges().running, 2);
  EXPECT_EQ(bench.engine.gauges().waiting, 1);
  bench.run();
  EXPECT_EQ(bench.engine.counters().finished[1], 3u);
}

TEST(ServeEngine, APrefillStepTakesNoMoreTokensThanToldButOneAlone) {
  EngineSettings settings = roomy();
  settings.max_batched_tokens = 100;
  Bench bench(settings);
  bench.add(answer_of(2, 60, 1));
  bench.add(answer_of(2, 60, 2));
  bench.add(answer_of(2, 400, 3));
  EXPECT_EQ(bench.step()->tokens, 60);
  EXPECT_EQ(bench.step()->tokens, 60);
  EXPECT_EQ(bench.step()->tokens, 400);
}

// 4 blocks of 16: two requests of 17 prompt tokens have two each, and the first to need a third
// drives the other out, which is prefilled anew with what it had said.
TEST(ServeEngine, WhenTheCacheIsFullTheLastLetInGoesBack) {
  Bench bench({.kv_blocks = 4, .context_tokens = 64});
  const SequenceId one = bench.add(answer_of(30, 17, 1));
  const SequenceId other = bench.add(answer_of(30, 17, 2));
  bench.step();
  EXPECT_EQ(bench.engine.gauges().cache_usage, 1);
  bool prefilled_anew = false;
  for (auto step = bench.step(); step; step = bench.step()) {
    if (step->kind != StepKind::kPrefill) continue;
    prefilled_anew = true;
    EXPECT_GT(step->tokens, 17 - kBlockTokens);  // less its prompt's remembered block
  }
  EXPECT_TRUE(prefilled_anew);
  EXPECT_GE(bench.engine.counters().preemptions, 1u);
  EXPECT_EQ(bench.tokens(one), 30);
  EXPECT_EQ(bench.tokens(other), 30);
  EXPECT_EQ(bench.engine.counters().prompt_tokens, 34u);  // once each
  EXPECT_EQ(bench.engine.counters().ttft.count(), 2u);
}

TEST(ServeEngine, PreemptionDoesNotChangeWhatIsSaid) {
  Bench tight({.kv_blocks = 4, .context_tokens = 64});
  Bench wide(roomy());
  for (std::uint32_t i = 1; i <= 2; ++i) {
    tight.add(answer_of(30, 17, i));
    wide.add(answer_of(30, 17, i));
  }
  tight.run();
  wide.run();
  EXPECT_EQ(tight.text, wide.text);
}

TEST(ServeEngine, EndsByItselfUnlessToldOtherwise) {
  Bench bench(roomy());
  Generation generation = answer_of(1000);
  generation.ignore_eos = false;
  const int own = answer_length(answer_seed(generation.prompt, 0));
  const SequenceId plain = bench.add(generation);
  generation.min_tokens = own + 5;
  const SequenceId longer = bench.add(generation);
  generation.ignore_eos = true;
  const SequenceId full = bench.add(generation);
  bench.run();
  EXPECT_EQ(bench.tokens(plain), own);
  EXPECT_EQ(bench.finish(plain), FinishReason::kStop);
  EXPECT_EQ(bench.tokens(longer), own + 5);
  EXPECT_EQ(bench.tokens(full), 1000);
  EXPECT_EQ(bench.finish(full), FinishReason::kLength);
}

TEST(ServeEngine, AStopTextEndsItAndIsNeverSeen) {
  Bench bench(roomy());
  const SequenceId whole = bench.add(answer_of(60));
  bench.run();
  const std::string text = bench.text[whole];
  // A stop text that runs over two tokens, in the middle of the answer.
  const std::size_t space = text.find(' ', text.size() / 2);
  const std::string stop = text.substr(space - 2, 4);
  const std::size_t first = text.find(stop);
  Generation generation = answer_of(60);
  generation.stop = {"not there", stop};
  const SequenceId cut = bench.add(generation);
  bench.run();
  EXPECT_EQ(bench.finish(cut), FinishReason::kStop);
  EXPECT_EQ(bench.text[cut], text.substr(0, first));
}

TEST(ServeEngine, HandsOutWholeCharacters) {
  Bench bench(roomy());
  Generation generation = answer_of(300);
  generation.stop = {"never said"};  // bytes are held back, at any place
  const SequenceId id = bench.add(generation);
  bench.run();
  for (const TokenDelta& delta : bench.received[id]) {
    if (delta.text.empty()) continue;
    EXPECT_NE(static_cast<unsigned char>(delta.text.front()) & 0xC0U, 0x80U);
  }
  const SequenceId plain = bench.add(answer_of(300));
  bench.run();
  EXPECT_EQ(bench.text[id], bench.text[plain]);
}

TEST(ServeEngine, SeveralTokensAChunkButTheFirstAtOnce) {
  EngineSettings settings = roomy();
  settings.tokens_per_chunk = 4;
  Bench bench(settings);
  const SequenceId id = bench.add(answer_of(11));
  bench.run();
  std::vector<int> sizes;
  for (const TokenDelta& delta : bench.received[id]) sizes.push_back(delta.tokens);
  EXPECT_EQ(sizes, (std::vector<int>{1, 4, 4, 2}));
  EXPECT_EQ(bench.received[id].back().total_tokens, 11);
}

TEST(ServeEngine, APromptThatBeginsAlikeIsPrefilledInPart) {
  Bench bench(roomy());
  bench.add(answer_of(1, 40));
  EXPECT_EQ(bench.step()->tokens, 40);
  bench.add(answer_of(1, 40));
  EXPECT_EQ(bench.step()->tokens, 8);  // two whole blocks of 16 are known
  bench.add(answer_of(1, 32));
  EXPECT_EQ(bench.step()->tokens, 16);  // not all of it: the first token comes out of the last
  EXPECT_EQ(bench.engine.counters().prefix_queries, 112u);
  EXPECT_EQ(bench.engine.counters().prefix_hits, 48u);
}

TEST(ServeEngine, ThePrefixCacheForgetsTheLeastRecentlyUsed) {
  PrefixCache cache(2);
  EXPECT_EQ(cache.look_up_and_add(prompt_of(17, 1)), 0);
  EXPECT_EQ(cache.look_up_and_add(prompt_of(17, 2)), 0);
  EXPECT_EQ(cache.look_up_and_add(prompt_of(17, 1)), 16);
  EXPECT_EQ(cache.look_up_and_add(prompt_of(17, 3)), 0);
  EXPECT_EQ(cache.look_up_and_add(prompt_of(17, 1)), 16);
  EXPECT_EQ(cache.look_up_and_add(prompt_of(17, 2)), 0);
}

TEST(ServeEngine, CancelFreesAndCountsAsAborted) {
  Bench bench(roomy());
  const SequenceId running = bench.add(answer_of(50));
  bench.step();
  const SequenceId waiting = bench.add(answer_of(50, 8, 2));
  bench.engine.cancel(waiting, bench.now);
  ASSERT_TRUE(bench.engine.next_step(bench.now));
  bench.engine.cancel(running, bench.now);  // while its step runs
  EXPECT_TRUE(bench.engine.finish_step(bench.now).empty());
  bench.engine.cancel(running, bench.now);
  bench.engine.cancel(12345, bench.now);
  EXPECT_FALSE(bench.step());
  EXPECT_EQ(bench.engine.counters().finished[2], 2u);
  EXPECT_EQ(bench.engine.gauges().cache_usage, 0);
  EXPECT_EQ(bench.engine.counters().e2e.count(), 0u);
}

TEST(ServeEngine, TimesAreFromArrivalToToken) {
  Bench bench(roomy());
  bench.add(answer_of(3));
  bench.now = bench.now + Seconds(0.5);  // it waits
  bench.run();
  const ServeCounters& counters = bench.engine.counters();
  EXPECT_NEAR(counters.queue.sum(), 0.5, 1e-6);
  EXPECT_NEAR(counters.ttft.sum(), 0.51, 1e-6);
  EXPECT_NEAR(counters.prefill.sum(), 0.01, 1e-6);
  EXPECT_EQ(counters.itl.count(), 2u);
  EXPECT_NEAR(counters.itl.sum(), 0.02, 1e-6);
  EXPECT_NEAR(counters.decode.sum(), 0.02, 1e-6);
  EXPECT_NEAR(counters.e2e.sum(), 0.53, 1e-6);
  EXPECT_EQ(counters.prompt_length.sum(), 8);
  EXPECT_EQ(counters.answer_length.sum(), 3);
}

TEST(ServeEngine, RefusesWhatCannotBe) {
  Bench bench({.kv_blocks = 2, .context_tokens = 4096});
  EXPECT_EQ(bench.engine.context_tokens(), 32);
  const auto refused = [&](Generation generation) {
    const auto id = bench.engine.add(std::move(generation), bench.now);
    return id ? std::string() : id.error().message;
  };
  EXPECT_EQ(refused(answer_of(24)), "");
  EXPECT_NE(refused(answer_of(25)).find("maximum context length is 32"), std::string::npos);
  EXPECT_NE(refused(answer_of(1, 32)).find("maximum context length"), std::string::npos);
  EXPECT_NE(refused(answer_of(1, 0)).find("empty"), std::string::npos);
  EXPECT_NE(refused(answer_of(0)).find("max_tokens"), std::string::npos);
  Generation generation = answer_of(5);
  generation.min_tokens = 6;
  EXPECT_NE(refused(generation).find("min_tokens"), std::string::npos);
}

RC_GTEST_PROP(ServeEngine, EveryRequestEndsWithAllItsTokensWhateverTheRoom, ()) {
  EngineSettings settings;
  settings.kv_blocks = *rc::gen::inRange(4, 30);
  settings.max_num_seqs = *rc::gen::inRange(1, 12);
  settings.max_batched_tokens = *rc::gen::inRange(1, 100);
  settings.tokens_per_chunk = *rc::gen::inRange(1, 5);
  settings.context_tokens = 4096;
  Bench bench(settings);
  std::map<SequenceId, int> wanted;
  const int requests = *rc::gen::inRange(1, 30);
  const auto& counters = bench.engine.counters();
  for (int i = 0; i < requests; ++i) {
    const int prompt = *rc::gen::inRange(1, 33);
    const int answer = *rc::gen::inRange(1, 32);
    // Some prompts are alike.
    const auto kind = *rc::gen::inRange<std::uint32_t>(1, 4);
    wanted[bench.add(answer_of(answer, prompt, kind))] = answer;
    for (int n = *rc::gen::inRange(0, 4); n > 0; --n) bench.step();
    const ServeGauges gauges = bench.engine.gauges();
    RC_ASSERT(gauges.cache_usage >= 0 && gauges.cache_usage <= 1);
    RC_ASSERT(gauges.running <= settings.max_num_seqs);
  }
  bench.run();
  int total = 0;
  for (const auto& [id, tokens] : wanted) {
    RC_ASSERT(bench.tokens(id) == tokens);
    RC_ASSERT(bench.finish(id) == FinishReason::kLength);
    total += tokens;
  }
  RC_ASSERT(counters.generation_tokens == static_cast<std::uint64_t>(total));
  RC_ASSERT(counters.finished[1] == wanted.size());
  RC_ASSERT(bench.engine.gauges().cache_usage == 0);
  RC_ASSERT(counters.ttft.count() == wanted.size());
  RC_ASSERT(counters.ttft.count() + counters.itl.count() == counters.generation_tokens);
}

}  // namespace
}  // namespace perjoule::twin
