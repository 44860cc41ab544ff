#include "serving/bench/bench_figures.h"

#include <gtest/gtest.h>

#include <cmath>

#include "serving/bench/bench_document.h"
#include "serving/window/test_load.h"
#include "workload/bench_result_json.h"

namespace perjoule {
namespace {

using test_load::Server;

constexpr double kTick = 0.1;

/// What is drawn until each instant of a course of power, exactly.
Joules drawn(const std::vector<PowerReading>& power, Instant from, Instant until) {
  return energy_between(power, from, until).value();
}

/// A run as run_bench would record it: the counter moves once a tick, and is read four times as
/// often.
BenchRun recorded(const test_load::LoadRun& made, double phase, double gain = 1) {
  BenchRun run;
  run.load.records = made.records;
  run.load.begun = made.records.front().scheduled;
  run.load.ended = run.load.begun;
  for (RequestRecord& record : run.load.records) {
    record.status = 200;
    record.response.finish_reason = "length";
    record.response.tokens.source = CountSource::kUsage;
    run.load.ended = std::max(run.load.ended, record.ended);
  }
  SourceInfo info;
  info.id = "gpu:a/energy";
  info.device = "gpu:a";
  info.tick = Seconds(kTick);
  info.quantum = 1e-3;
  info.gain = 0.02;
  info.status = Status::kSimulated;
  auto timeline = std::make_unique<Timeline>(200'000);
  const Instant first = made.power.front().at;
  const Seconds whole = made.power.back().at - first;
  // In one pass: what is drawn grows from one reading to the next.
  Joules sum;
  Instant counted = first;
  double shown = 0;
  for (double at = 0; at < whole.value(); at += kTick / 4) {
    const double ticked = std::floor((at - phase) / kTick) * kTick + phase;
    const Instant until = first + Seconds(std::max(0.0, ticked));
    if (until > counted) {
      sum += drawn(made.power, counted, until);
      counted = until;
      shown = sum.value();
    }
    timeline->add(first + Seconds(at), static_cast<std::uint64_t>(shown * gain * 1e6));
  }
  run.courses.push_back({info, std::move(timeline)});
  return run;
}

/// In every batch all requests are short, so that the sum in `drawn` is quick.
Server server() { return {.batch = 16, .shortest = 20, .longest = 60}; }

TEST(BenchFigures, AnOutputTokenIsKnownWithinWhatIsSaid) {
  Random random(3);
  int within = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto made = test_load::closed(server(), 160, seed);
    const double gain = 1 + 0.02 / std::sqrt(3.0) * random.normal();
    const BenchRun run = recorded(made, random.uniform() * kTick, gain);
    const auto figures = bench_figures(run, {.max_num_seqs = 16});
    ASSERT_TRUE(figures) << figures.error().text();
    const RuleFigures& rule = figures->rule();
    const Joules truth = drawn(made.power, rule.window->from, rule.window->until) /
                         static_cast<double>(rule.totals.output_tokens);
    const Energy& told = figures->output_token;
    within += std::abs((told.joules - truth).value()) <= told.expanded_uncertainty().value();
    EXPECT_NEAR(told.joules.value(), truth.value(), 0.1 * truth.value());
    EXPECT_LT(told.expanded_uncertainty().value(), 0.06 * truth.value());
  }
  EXPECT_GE(within, 90);
}

TEST(BenchFigures, BothRulesStandBesideOneAnother) {
  const BenchRun run = recorded(test_load::closed(server(), 200, 1), 0.03);
  const auto figures = bench_figures(run, {.max_num_seqs = 16});
  ASSERT_TRUE(figures) << figures.error().text();
  ASSERT_EQ(figures->rules.size(), 3u);
  EXPECT_EQ(figures->rules[0].rule, "stationary");
  EXPECT_EQ(figures->rules[1].rule, "full batch");
  EXPECT_EQ(figures->rules[2].rule, "whole run");
  EXPECT_EQ(figures->chosen, 0u);
  EXPECT_NEAR(figures->rules[0].output_token.joules / figures->rules[1].output_token.joules, 1,
              0.02);
  // Its beginning and end are dearer.
  EXPECT_GT(figures->rules[2].output_token.joules, figures->rules[1].output_token.joules);
  EXPECT_GT(figures->whole.total().joules, figures->used.total().joules);
  EXPECT_NEAR(figures->response.joules / figures->output_token.joules, figures->mean_output, 1e-9);
  EXPECT_LT(figures->total_token.joules, figures->output_token.joules);
}

TEST(BenchFigures, WithoutSteadyStateTheWholeRunIsTakenAndSaid) {
  const BenchRun run = recorded(test_load::closed(server(), 4, 1), 0.03);
  const auto figures = bench_figures(run, {.max_num_seqs = 16});
  ASSERT_TRUE(figures) << figures.error().text();
  EXPECT_EQ(figures->rule().rule, "whole run");
  ASSERT_FALSE(figures->notes.empty());
  EXPECT_NE(figures->notes.back().find("whole run"), std::string::npos);
  EXPECT_TRUE(figures->validity.empty());
  const auto asked = bench_figures(run, {.window = WindowChoice::kStationary});
  ASSERT_TRUE(asked) << "what was measured is not lost for want of a window";
  EXPECT_EQ(asked->rule().rule, "whole run");
  ASSERT_EQ(asked->validity.size(), 1u);
  EXPECT_NE(asked->validity[0].find("'stationary'"), std::string::npos);
  const auto batchless = bench_figures(run, {.window = WindowChoice::kFullBatch});
  ASSERT_FALSE(batchless);
  EXPECT_EQ(batchless.error().code, ErrorCode::kInvalidArgument);
}

TEST(BenchFigures, FailuresStayInTheEnergyAndMakeARunVoid) {
  BenchRun run = recorded(test_load::closed(server(), 200, 2), 0.03);
  const auto before = bench_figures(run, {});
  ASSERT_TRUE(before);
  run.load.records[100].failure = Failure::kTruncated;
  const auto one = bench_figures(run, {});
  ASSERT_TRUE(one);
  EXPECT_TRUE(one->validity.empty());
  EXPECT_EQ(one->latency.failed(), 1u);
  EXPECT_NEAR(one->output_token.joules / before->output_token.joules, 1, 1e-9)
      << "the tokens of a failed request were made all the same";
  for (std::size_t i = 100; i < 110; ++i) run.load.records[i].failure = Failure::kTruncated;
  const auto many = bench_figures(run, {});
  ASSERT_TRUE(many);
  ASSERT_EQ(many->validity.size(), 1u);
  EXPECT_NE(many->validity.front().find("5.0 %"), std::string::npos) << many->validity.front();
  EXPECT_TRUE(bench_figures(run, {.most_failed = 0.1})->validity.empty());
}

TEST(BenchFigures, AClientThatWasTheBottleneckMakesItVoid) {
  BenchRun run = recorded(test_load::closed(server(), 200, 2), 0.03);
  run.load.bottleneck = Error::unavailable("the client was the bottleneck").value();
  const auto figures = bench_figures(run, {});
  ASSERT_TRUE(figures);
  ASSERT_EQ(figures->validity.size(), 1u);
}

TEST(BenchFigures, GoodTokensTakeAllOfTheEnergy) {
  const BenchRun run = recorded(test_load::closed(server(), 200, 2), 0.03);
  const auto figures = bench_figures(run, {.limits = {.e2el = Seconds(6)}});
  ASSERT_TRUE(figures && figures->goodput && figures->good_token);
  EXPECT_GT(figures->goodput->share, 0);
  EXPECT_LT(figures->goodput->share, 1);
  EXPECT_GT(figures->good_token->joules, figures->output_token.joules);
  EXPECT_NEAR(figures->good_token->joules.value() * static_cast<double>(figures->goodput->tokens),
              figures->used.total().joules.value(), 1e-6);
}

TEST(BenchFigures, WithoutAMeterThereIsNoEnergy) {
  BenchRun run = recorded(test_load::closed(server(), 200, 2), 0.03);
  run.courses.clear();
  const auto figures = bench_figures(run, {});
  ASSERT_TRUE(figures) << figures.error().text();
  EXPECT_EQ(figures->output_token.status, Status::kMissing);
  EXPECT_EQ(figures->response.status, Status::kMissing);
  EXPECT_FALSE(figures->phases);
  const BenchResult result = bench_result(*figures, run, {.task = "t", .model = {.id = "m"}});
  EXPECT_FALSE(result.energy.output_token);
  EXPECT_FALSE(result.power);
}

TEST(BenchFigures, TheDocumentIsAResultThatReadsBack) {
  const BenchRun run = recorded(test_load::closed(server(), 200, 2), 0.03);
  const auto figures = bench_figures(run, {.max_num_seqs = 16, .limits = {.e2el = Seconds(6)}});
  ASSERT_TRUE(figures);
  BenchContext context{.task = "t", .model = {.id = "m"}, .max_num_seqs = 16};
  context.load.concurrency = 16;
  context.settings.set("gpu-memory", "0.9");
  const BenchResult result = bench_result(*figures, run, context);
  const Json document = bench_document(result, *figures, run, context);
  const auto text = parse_json(document.dump());
  ASSERT_TRUE(text);
  const auto back = bench_result_from_json(*text, "x.json");
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->energy.output_token->joules, result.energy.output_token->joules);
  EXPECT_EQ(back->energy.output_token->expanded_uncertainty(),
            result.energy.output_token->expanded_uncertainty());
  EXPECT_EQ(back->settings, context.settings);
  EXPECT_EQ(back->goodput.share, result.goodput.share);
  EXPECT_EQ(back->lengths.outputs, result.lengths.outputs);
  const Json* more = document.find("run");
  ASSERT_NE(more, nullptr);
  EXPECT_EQ(more->find("windows")->as_array()->size(), 3u);
  // Power times time is energy.
  EXPECT_NEAR(result.power->value() * result.evidence.window->value(),
              figures->used.total().joules.value(), 1e-6);
  EXPECT_NEAR(*result.rates.output_tokens * result.energy.output_token->joules.value(),
              result.power->value(), 1e-6);
}

TEST(BenchFigures, ALineARequest) {
  const auto made = test_load::closed(server(), 4, 1);
  const auto line = parse_json(request_line(made.records[0], made.records[0].scheduled));
  ASSERT_TRUE(line);
  EXPECT_EQ(line->string("outcome"), "answered");
  EXPECT_EQ(line->integer("prompt_tokens"), 100);
}

}  // namespace
}  // namespace perjoule
