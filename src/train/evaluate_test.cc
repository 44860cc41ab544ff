// Energy and time to accuracy where the target is not always reached.
#include "train/evaluate.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

/// Batch sizes with the epochs of their recorded runs, under one limit; the first is the default.
WorkloadTrace traced(const std::vector<std::pair<int, std::vector<std::optional<int>>>>& sizes) {
  WorkloadTrace trace;
  trace.workload = {"w", "d", "n", "o", 0.5, 10, sizes.front().first};
  trace.max_power = Watts(300);
  for (const auto& [size, epochs] : sizes)
    trace.batches.push_back({size, epochs, {{Watts(300), Seconds(10), Watts(200)}}});
  return trace;
}

PolicyEvaluation evaluated(const std::string& policy, const WorkloadTrace& trace, int seeds = 1) {
  PolicyChoice choice;
  choice.name = policy;
  EvaluationOptions options;
  options.seeds = seeds;
  options.recurrences = 10;
  const auto result = evaluate_policy(trace, choice, options);
  EXPECT_TRUE(result) << result.error().text();
  return result.value_or(PolicyEvaluation());
}

TEST(Evaluation, EnergyAndTimeToAccuracyAreMeansOverRecurrences) {
  const PolicyEvaluation result = evaluated("default", traced({{32, {5}}, {64, {4}}}));
  EXPECT_DOUBLE_EQ(result.eta.mean.mean, 5 * 10 * 200);
  EXPECT_DOUBLE_EQ(result.tta.mean.mean, 50);
  EXPECT_EQ(result.eta.count, 10);
  EXPECT_EQ(result.eta.censored, 0);
  EXPECT_FALSE(result.eta.lower_bound());
  EXPECT_FALSE(result.default_censored);
}

TEST(Evaluation, TheErrorIsOverSeedsOrOverTheRecurrencesOfOne) {
  const auto trace = traced({{32, {4, 6, 8}}});
  EXPECT_GT(evaluated("default", trace).eta.mean.error, 0);
  const PolicyEvaluation many = evaluated("default", trace, 40);
  EXPECT_EQ(many.eta.count, 400);
  EXPECT_NEAR(many.tta.mean.mean, 60, 4 * many.tta.mean.error);
  EXPECT_NEAR(many.tta.mean.error, 16.3 / 20, 0.35);
}

TEST(Evaluation, ADefaultThatNeverReachesTheTargetIsCensoredAndNoBaseline) {
  const auto trace = traced({{32, {std::nullopt}}, {64, {4}}});
  const PolicyEvaluation usual = evaluated("default", trace);
  EXPECT_EQ(usual.eta.censored, 10);
  EXPECT_TRUE(usual.tta.lower_bound());
  // 20 tries of 10 epochs: what it took until it was given up.
  EXPECT_DOUBLE_EQ(usual.tta.mean.mean, 20 * 10 * 10);
  EXPECT_TRUE(usual.default_censored);
  for (const char* policy : {"zeus", "perjoule"}) {
    const PolicyEvaluation result = evaluated(policy, trace);
    EXPECT_EQ(result.eta.censored, 0) << policy;
    EXPECT_TRUE(result.default_censored) << policy;
  }
  // One recorded run that misses the target suffices: the mean is not known.
  EXPECT_TRUE(default_job(traced({{32, {5, std::nullopt}}, {64, {4}}})).censored);
  EXPECT_TRUE(may_reach(trace));
  EXPECT_FALSE(may_reach(traced({{32, {std::nullopt}}, {64, {11}}})));
}

TEST(Evaluation, ProgressGoesFromNothingToAll) {
  EvaluationOptions options;
  options.seeds = 3;
  options.recurrences = 4;
  std::vector<double> shares;
  options.progress = [&](double share) { shares.push_back(share); };
  PolicyChoice choice;
  choice.name = "perjoule";
  ASSERT_TRUE(evaluate_policy(traced({{32, {5}}, {64, {4}}}), choice, options));
  ASSERT_EQ(shares.size(), 12U);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_DOUBLE_EQ(shares.back(), 1);
}

}  // namespace
}  // namespace perjoule
