// Defects of the original that ours must not have.
#include "train/zeus_policy.h"

#include <gtest/gtest.h>

#include <map>

namespace perjoule {
namespace {

std::unique_ptr<BatchSizePolicy> policy_of(std::vector<int> sizes, int usual) {
  auto policy = ZeusPolicy::make({std::move(sizes), usual, 2, 0, {}});
  EXPECT_TRUE(policy);
  return std::move(*policy);
}

TrialResult result(int batch_size, bool reached, double cost) {
  return {batch_size, reached, 10, Joules(cost / 10), Joules(cost)};
}

/// Two rounds in which every size costs what the map says.
void prune(BatchSizePolicy& policy, const std::map<int, double>& costs) {
  Random random(1);
  for (std::size_t i = 0; i < 2 * costs.size(); ++i) {
    const int size = policy.next(random, {});
    policy.report(result(size, true, costs.at(size)), Joules(costs.at(size)));
  }
}

TEST(ZeusPolicy, ATrainingThatMissedTheTargetSetsNoBound) {
  const auto policy = policy_of({32, 64}, 64);
  policy->report(result(64, false, 1), Joules(1));
  EXPECT_EQ(policy->most_epochs(64, Joules(1000)), kAnyEpochs);
  Random random(1);
  EXPECT_EQ(policy->next(random, {32}), 64);  // nor is it the best known
}

TEST(ZeusPolicy, DrawsOfTwoArmsAreIndependent) {
  const auto policy = policy_of({32, 64}, 64);
  prune(*policy, {{32, 100}, {64, 100}});
  for (const int size : {32, 64}) {
    for (const double cost : {90.0, 110.0}) policy->report(result(size, true, cost), Joules(cost));
  }
  std::map<int, int> chosen;
  Random random(3);
  for (int i = 0; i < 1000; ++i) ++chosen[policy->next(random, {})];
  EXPECT_NEAR(chosen[32], 500, 60);
}

TEST(ZeusPolicy, AResultThatComesLateStillCounts) {
  const auto policy = policy_of({32, 64}, 64);
  prune(*policy, {{32, 100}, {64, 101}});
  // Asked for while pruning, reported after: a far cheaper one.
  for (int i = 0; i < 20; ++i) policy->report(result(64, true, 10), Joules(10));
  Random random(3);
  int late = 0;
  for (int i = 0; i < 100; ++i) late += policy->next(random, {}) == 64 ? 1 : 0;
  EXPECT_GT(late, 60);
}

TEST(ZeusPolicy, WhatCouldNotEvenStartIsPunished) {
  const auto policy = policy_of({32, 64}, 64);
  prune(*policy, {{32, 100}, {64, 100}});
  for (int i = 0; i < 5; ++i) policy->report_failure(32);
  Random random(3);
  for (int i = 0; i < 3; ++i) policy->report(result(64, true, 100), Joules(100));
  int punished = 0;
  for (int i = 0; i < 100; ++i) punished += policy->next(random, {}) == 32 ? 1 : 0;
  EXPECT_LT(punished, 10);
}

}  // namespace
}  // namespace perjoule
