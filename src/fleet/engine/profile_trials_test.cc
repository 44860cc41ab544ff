#include "fleet/engine/profile_trials.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fleet/engine/table_steps.h"

namespace perjoule {
namespace {

const std::vector<TokenLengths> kLengths = {
    {100, 20, {}}, {800, 200, {}}, {3000, 400, {}}, {0, 5, {}}};

ProfileTrials small() {
  ProfileTrials trials;
  trials.loads = {500, 2000, 8000, 100'000};
  trials.size = {.requests = 100, .time = Seconds(10), .patience = 3};
  return trials;
}

TEST(ProfileTrialsTest, EveryLayoutClockAndClassHasACurveThatEndsWhereItIsHopeless) {
  const auto models = table_steps(shipped_step_tables()).value();
  const auto profile = profile_of_engines(models, kLengths, small());
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(profile->curves.size(), 3U * 7 * 4);
  for (const ProfileCurve& curve : profile->curves) {
    EXPECT_EQ(curve.status, Status::kSimulated);
    EXPECT_NE(curve.origin.find("synthetic"), std::string::npos);
    EXPECT_LT(curve.points.back().attainment, 0.5);
    for (std::size_t i = 0; i + 1 < curve.points.size(); ++i) {
      EXPECT_GE(curve.points[i].attainment, 0.5);
      EXPECT_GT(curve.points[i].power.value(), 75 * curve.layout.gpus());
      EXPECT_LE(curve.points[i].power.value(), 700 * curve.layout.gpus());
      EXPECT_LE(curve.points[i].ttft[LatencyStatistic::kMean],
                curve.points[i].ttft[LatencyStatistic::kP99] * 1.01);
    }
  }
}

TEST(ProfileTrialsTest, TheSameSeedGivesTheSameCurves) {
  const auto models = table_steps(shipped_step_tables()).value();
  const std::vector<std::shared_ptr<const StepModel>> one = {models.front()};
  const auto a = profile_of_engines(one, kLengths, small());
  const auto b = profile_of_engines(one, kLengths, small());
  ASSERT_TRUE(a && b);
  for (std::size_t i = 0; i < a->curves.size(); ++i) {
    ASSERT_EQ(a->curves[i].points.size(), b->curves[i].points.size());
    for (std::size_t k = 0; k < a->curves[i].points.size(); ++k)
      EXPECT_EQ(a->curves[i].points[k].power, b->curves[i].points[k].power);
  }
}

TEST(ProfileTrialsTest, ALightLoadIsThatOfARequestAlone) {
  const auto models = table_steps(shipped_step_tables()).value();
  const StepModel& model = *models.back();
  const std::vector<TokenLengths> one = {{1000, 101, {}}};
  TrialLoad load{.lengths = one, .prompt_rate = 1, .instances = 1};
  const ServingPoint point =
      serve_trial(model, {.most_running = 256, .step_tokens = 2048}, model.highest_clock(), load,
                  {.requests = 50, .time = Seconds(1)});
  StepBatch prompt;
  prompt.prefill_tokens = 1000;
  StepBatch token;
  token.decodes = 1;
  const StepCost first = model.cost(prompt, model.highest_clock());
  const StepCost next = model.cost(token, model.highest_clock());
  EXPECT_NEAR(point.ttft[LatencyStatistic::kMean].value(), first.time.value(),
              0.02 * first.time.value());
  EXPECT_NEAR(point.tbt[LatencyStatistic::kP99].value(), next.time.value(),
              0.01 * next.time.value());
  const double busy = (first.energy + next.energy * 100).value() / 1000;
  const double idle = 600 * (1 - (first.time + next.time * 100).value() / 1000);
  EXPECT_NEAR(point.power.value(), busy + idle, 0.05 * (busy + idle));
}

TEST(ProfileTrialsTest, WhatMakesNoProfile) {
  const auto models = table_steps(shipped_step_tables()).value();
  EXPECT_FALSE(profile_of_engines(models, {}, small()));
  ProfileTrials trials = small();
  trials.loads = {2, 1};
  EXPECT_FALSE(profile_of_engines(models, kLengths, trials));
  trials.loads = {std::nan("")};
  EXPECT_FALSE(profile_of_engines(models, kLengths, trials));
}

}  // namespace
}  // namespace perjoule
