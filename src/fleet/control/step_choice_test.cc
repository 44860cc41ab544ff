#include "fleet/control/step_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace perjoule {
namespace {

/// A step costs some time whatever it does, and some more for each token of prompts.
class PlainSteps final : public StepModel {
 public:
  PlainSteps(int gpus, double step_s, double token_s)
      : StepModel({.layout = {.model = "m", .gpu = "g", .tensor_parallel = gpus},
                   .clocks_mhz = {1000, 2000},
                   .idle = {Watts(10), Watts(20)},
                   .cache_tokens = 1'000'000}),
        step_s_(step_s),
        token_s_(token_s) {}
  StepCost cost(const StepBatch& batch, std::size_t clock) const noexcept override {
    const double slower = clock == 1 ? 1 : 3;
    return {Seconds(slower * (step_s_ + token_s_ * static_cast<double>(batch.prefill_tokens))),
            Joules(1)};
  }

 private:
  double step_s_;
  double token_s_;
};

ProfileTrials small() {
  ProfileTrials trials;
  trials.levels.fill({Seconds(2), Seconds(0.1)});
  trials.loads.clear();
  for (double load = 4000; load < 60'000; load *= 1.1) trials.loads.push_back(load);
  trials.size = {.requests = 100, .time = Seconds(10), .patience = 1};
  return trials;
}

const std::vector<TokenLengths> kLengths = {{3000, 40, {}}, {6000, 60, {}}};

TEST(StepChoiceTest, StepsAreAsLargeAsTheGapsAllow) {
  // 1,024 tokens take 10 ms + 1,024 x 80 us = 92 ms, 1,536 take 133 ms; or a quarter of the token's
  // share.
  const std::vector<std::shared_ptr<const StepModel>> models = {
      std::make_shared<PlainSteps>(1, 0.010, 80e-6), std::make_shared<PlainSteps>(8, 0.010, 20e-6)};
  const auto steps = best_steps(models, kLengths, small(), 0.9);
  ASSERT_TRUE(steps) << steps.error().text();
  ASSERT_EQ(steps->size(), 2U);
  EXPECT_EQ((*steps)[0].step_tokens, 1024);
  EXPECT_GE((*steps)[1].step_tokens, 2048);
  EXPECT_EQ((*steps)[0].clock_mhz, 2000);
  for (const StepChoice& one : *steps) {
    ASSERT_EQ(one.tried.size(), step_candidates().size());
    const auto best = std::max_element(
        one.tried.begin(), one.tried.end(),
        [](const StepTrial& a, const StepTrial& b) { return a.carries < b.carries; });
    EXPECT_EQ(best->step_tokens, one.step_tokens);
    EXPECT_EQ(best->carries, one.carries);
    EXPECT_GT(one.carries, 1.2 * one.tried.front().carries);
  }
  EXPECT_LT((*steps)[0].tried[6].carries, (*steps)[0].carries);
  // 512 take 51 ms, 384 take 41 ms.
  ProfileTrials tight = small();
  tight.levels.fill({Seconds(2), Seconds(0.045)});
  EXPECT_EQ((*best_steps({models.front()}, kLengths, tight, 0.9))[0].step_tokens, 384);
}

TEST(StepChoiceTest, StaysWhereNothingIsInTime) {
  const std::vector<std::shared_ptr<const StepModel>> models = {
      std::make_shared<PlainSteps>(1, 0.010, 80e-6)};
  ProfileTrials hopeless = small();
  hopeless.levels.fill({Seconds(0.001), Seconds(0.001)});
  hopeless.limits.every.step_tokens = 640;
  const auto steps = best_steps(models, kLengths, hopeless, 0.9);
  ASSERT_TRUE(steps) << steps.error().text();
  EXPECT_EQ(steps->front().step_tokens, 640);
  EXPECT_EQ(steps->front().carries, 0);
  EXPECT_FALSE(best_steps(models, {}, hopeless, 0.9));
}

}  // namespace
}  // namespace perjoule
