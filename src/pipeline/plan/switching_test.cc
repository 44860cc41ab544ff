#include "pipeline/plan/switching.h"

#include <gtest/gtest.h>

#include <cmath>

#include "math/random.h"
#include "pipeline/plan/planner.h"

namespace perjoule {
namespace {

/// Stages of unlike weight whose instructions take 1/clock and a power that grows with its cube.
PipelineProfile profile_of(int stages, double last, std::uint64_t seed = 1) {
  Random random(seed);
  std::vector<ProfiledInstruction> instructions;
  for (int stage = 0; stage < stages; ++stage) {
    const double weight = (stage + 1 == stages ? last : 1) * (0.97 + 0.06 * random.uniform());
    for (const auto& [name, work] : {std::pair{"forward", 0.02}, {"backward", 0.041}}) {
      ProfiledInstruction one{stage, 0, name, {}};
      for (const int clock : {1410, 1320, 1230, 1140, 1050, 960, 870}) {
        const double speed = clock / 1410.0;
        const double time = work * weight / speed;
        Config knob;
        knob.set("clock", std::to_string(clock) + " MHz");
        one.options.push_back(
            {knob, Seconds(time), Joules(time * (110 + 230 * speed * speed * speed)), {}, {}});
      }
      instructions.push_back(std::move(one));
    }
  }
  auto profile = PipelineProfile::make(std::move(instructions), "test");
  EXPECT_TRUE(profile);
  return *profile;
}

class Switching : public testing::Test {
 protected:
  PipelineStudy study(const SwitchCost& cost, std::vector<double> slowdowns = {1, 1.02, 1.1}) {
    const auto made = make_schedule("1f1b", {.stages = 4, .microbatches = 8});
    EXPECT_TRUE(made);
    schedule_ = std::make_unique<PipelineSchedule>(*made);
    auto problem = PipelineProblem::make(profile_, *schedule_, {Watts(70), {}}, cost);
    EXPECT_TRUE(problem) << problem.error().text();
    problem_ = std::make_unique<PipelineProblem>(std::move(*problem));
    auto found = study_pipeline(*problem_, {.slowdowns = std::move(slowdowns)});
    EXPECT_TRUE(found) << found.error().text();
    return std::move(*found);
  }
  /// Every run of one setting, in seconds of its instructions, of plans that change settings.
  double shortest_run(const PlannedIteration& plan) const {
    const auto option = measured_options(*problem_, plan.plan);
    const auto force = settings_in_force(*problem_, option);
    double shortest = INFINITY;
    for (std::size_t stage = 0; stage < schedule_->stages.size(); ++stage) {
      double run = 0;
      double first_run = -1;
      const std::size_t size = schedule_->stages[stage].size();
      for (std::size_t i = 0; i < size; ++i) {
        const std::uint32_t a = schedule_->number(stage, i);
        if (i > 0 && force[a] != force[a - 1]) {
          if (first_run < 0) {
            first_run = run;
          } else {
            shortest = std::min(shortest, run);
          }
          run = 0;
        }
        run += problem_->profiled(problem_->class_of()[a]).options[option[a]].time.value();
      }
      if (first_run < 0) continue;
      // The next iteration's first run goes on with the last where their settings are equal.
      const bool goes_on =
          force[schedule_->number(stage, 0)] == force[schedule_->number(stage, size - 1)];
      shortest = std::min(shortest, goes_on ? first_run + run : std::min(first_run, run));
    }
    return shortest;
  }

  PipelineProfile profile_ = profile_of(4, 1.15);
  std::unique_ptr<PipelineSchedule> schedule_;
  std::unique_ptr<PipelineProblem> problem_;
};

TEST_F(Switching, TheDearerAChangeTheFewerThereAre) {
  std::size_t before = SIZE_MAX;
  double energy = 0;
  for (const double ms : {0.0, 1.0, 20.0}) {
    const PipelineStudy found = study({.time = Seconds(ms * 1e-3)}, {1});
    const PlannedIteration& shortest = found.plans().front();
    EXPECT_LT(shortest.iteration.switches, before) << ms;
    EXPECT_GE(shortest.energy.value(), energy * (1 - 1e-9)) << ms;
    EXPECT_LT(shortest.energy, found.highest().energy) << ms;
    before = shortest.iteration.switches;
    energy = shortest.energy.value();
  }
}

TEST_F(Switching, WhatAPlanSaysIsWhatTheSimulationTakes) {
  const PipelineStudy found = study({.time = Seconds(0.003), .energy = Joules(0.2)});
  for (const PlannedIteration& one : found.plans()) {
    EXPECT_EQ(one.plan.makespan, one.iteration.makespan);
    EXPECT_LE(one.plan.makespan, one.plan.requested);
    const double effective = problem_->total_energy(one.plan.effective, one.plan.makespan).value();
    EXPECT_NEAR(effective, one.iteration.energy.value(), 1e-6 * effective);
    EXPECT_GE(one.gap(), 0);
  }
}

TEST_F(Switching, AChangeHidesInTheTimeThatAStageWaits) {
  study({.time = Seconds(0.01)});
  // The last stage waits for its first input longer than a change takes; the first never does.
  std::vector<std::uint32_t> all(schedule_->size(), 0);
  const Ticks plain = simulate_iteration(*problem_, all).makespan;
  std::vector<std::uint32_t> last = all;
  last[schedule_->number(0, schedule_->stages[0].size() - 1)] = 1;  // the last backward of stage 0
  const Iteration changed = simulate_iteration(*problem_, last);
  EXPECT_EQ(changed.switches, 2U);
  const double longer = problem_->seconds(changed.makespan - plain).value();
  const double slower = 0.041 * 1.03 * (1410.0 / 1320 - 1);
  // Stage 0 waits for its last gradient longer than 10 ms; nothing hides the change back, with
  // which the next iteration begins.
  EXPECT_NEAR(longer, slower + 0.01, 0.0002);
}

TEST_F(Switching, SettingsDwell) {
  const PipelineStudy found = study({.dwell = Seconds(0.2)});
  for (const PlannedIteration& one : found.plans()) {
    EXPECT_GE(shortest_run(one), 0.2 - 1e-9);
    EXPECT_LE(one.plan.makespan, one.plan.requested);
    EXPECT_LE(one.energy.value(), found.highest().energy.value() * (1 + 1e-6));
  }
  EXPECT_LT(found.plans().back().energy, found.highest().energy);
}

TEST_F(Switching, SlowerPlansTakeNoMore) {
  const PipelineStudy found = study({.time = Seconds(0.02)}, {1, 1.003, 1.02, 1.1});
  double before = INFINITY;
  for (const PlannedIteration& one : found.plans()) {
    EXPECT_LE(one.plan.effective, before);
    before = one.plan.effective;
  }
}

TEST_F(Switching, OfEqualOptionsTheOneInForceIsKept) {
  // An instruction that takes the same at all clocks is run at whatever clock there is.
  std::vector<ProfiledInstruction> instructions = profile_.instructions();
  const auto made = make_schedule("1f1b", {.stages = 4, .microbatches = 8});
  ASSERT_TRUE(made);
  const auto problem = PipelineProblem::make(profile_, *made, {Watts(70), {}});
  ASSERT_TRUE(problem);
  const auto found = study_pipeline(*problem, {.slowdowns = {1.05}});
  ASSERT_TRUE(found);
  const PipelinePlan& plan = found->plans().front().plan;
  const PipelinePlan kept = keep_equal_settings(*problem, plan);
  EXPECT_LE(kept.effective, plan.effective * (1 + 1e-12) + 1e-12);
  EXPECT_LE(kept.makespan, plan.requested);
}

class AnyPipeline : public testing::TestWithParam<std::uint64_t> {};

TEST_P(AnyPipeline, PlansAreInTimeAndNeverWorseWhateverAChangeCosts) {
  Random random(GetParam());
  const PipelineProfile profile = profile_of(3, 0.9 + 0.4 * random.uniform(), GetParam());
  const auto schedule = make_schedule("1f1b", {.stages = 3, .microbatches = 4});
  ASSERT_TRUE(schedule);
  const SwitchCost cost{Seconds(0.03 * random.uniform()), Joules(2 * random.uniform()),
                        Seconds(random.uniform() < 0.5 ? 0 : 0.2 * random.uniform())};
  const auto problem = PipelineProblem::make(profile, *schedule, {Watts(70), {}}, cost);
  ASSERT_TRUE(problem);
  const auto found = study_pipeline(*problem, {.points = 3});
  ASSERT_TRUE(found);
  const Iteration& highest = found->highest();
  for (const PlannedIteration& one : found->plans()) {
    EXPECT_LE(one.iteration.makespan, one.plan.requested);
    EXPECT_GT(one.gap(), -1e-12);
    const double waits = problem->seconds(one.plan.requested - highest.makespan).value();
    // Waiting is simulated in whole ticks, and energies reckon with the unrounded times.
    EXPECT_LE(one.energy.value(), (highest.energy.value() + 70 * 3 * waits) * (1 + 1e-5));
  }
}

INSTANTIATE_TEST_SUITE_P(Switching, AnyPipeline, testing::Range<std::uint64_t>(1, 9));

}  // namespace
}  // namespace perjoule
