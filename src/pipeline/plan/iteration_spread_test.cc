#include "pipeline/plan/iteration_spread.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "pipeline/plan/baselines.h"
#include "pipeline/plan/iteration.h"

namespace perjoule {
namespace {

struct Pipeline {
  std::unique_ptr<PipelineProfile> profile;
  std::unique_ptr<PipelineSchedule> schedule;
  std::unique_ptr<PipelineProblem> problem;
  std::vector<std::uint32_t> option;
};

/// Forwards of 50 ms and 15 J, backwards of 100 ms and 30 J at 1,400 MHz with these standard
/// deviations (s), and one row for 1,000 MHz.
Pipeline pipeline_with(double forward_spread, double backward_spread, int stages, int microbatches,
                       const SwitchCost& switching = {}) {
  std::string text = "stage,instruction,clock,time,energy,time_spread\n";
  for (int stage = 0; stage < stages; ++stage) {
    const std::string s = std::to_string(stage);
    text += s + ",forward,1400,0.05,15," + std::to_string(forward_spread) + "\n" + s +
            ",forward,1000,0.07,13,0\n";
    text += s + ",backward,1400,0.1,30," + std::to_string(backward_spread) + "\n" + s +
            ",backward,1000,0.14,26,0\n";
  }
  Pipeline made;
  made.profile = std::make_unique<PipelineProfile>(*PipelineProfile::parse(text, "p.csv"));
  made.schedule = std::make_unique<PipelineSchedule>(
      *make_schedule("1f1b", {.stages = stages, .microbatches = microbatches}));
  made.problem = std::make_unique<PipelineProblem>(
      *PipelineProblem::make(*made.profile, *made.schedule, {Watts(70), {}}, switching));
  made.option = highest_settings(*made.problem);
  return made;
}

TEST(IterationSpread, WithNextToNoSpreadEverySampleIsTheIteration) {
  Pipeline made = pipeline_with(1e-6, 1e-6, 4, 6, {.time = Seconds(0.003), .energy = Joules(0.5)});
  made.option[2] = 1;  // so that settings change
  made.option[7] = 1;
  const Iteration iteration = simulate_iteration(*made.problem, made.option);
  const auto spread = sample_iterations(*made.problem, made.option, {.samples = 50});
  ASSERT_TRUE(spread) << spread.error().text();
  const double time = made.problem->seconds(iteration.makespan).value();
  for (const double value : {spread->time.mean, spread->time.p5, spread->time.p95}) {
    EXPECT_NEAR(value, time, 1e-4);
  }
  EXPECT_NEAR(spread->energy.mean, iteration.energy.value(), 1e-3 * iteration.energy.value());
  EXPECT_EQ(spread->varying, made.schedule->size() - 2);
}

TEST(IterationSpread, OneStageHasTheMeanAndTheVarianceOfASum) {
  // 50 microbatches one after another: 100 draws, whose sum is all but normal.
  const Pipeline made = pipeline_with(0.01, 0.03, 1, 50);
  const auto spread = sample_iterations(*made.problem, made.option, {.samples = 4000, .seed = 3});
  ASSERT_TRUE(spread);
  const double sigma = std::sqrt(50 * (0.01 * 0.01 + 0.03 * 0.03));
  EXPECT_NEAR(spread->time.mean, 7.5, 4 * sigma / std::sqrt(4000));
  EXPECT_NEAR(spread->time.p50, 7.5, 0.03);
  EXPECT_NEAR(spread->time.p95 - spread->time.p5, 2 * 1.645 * sigma, 0.1 * sigma);
  // Both instructions draw 300 W, and nothing waits.
  EXPECT_NEAR(spread->energy.mean, 300 * spread->time.mean, 5e-3);
  EXPECT_NEAR(spread->energy.p95, 300 * spread->time.p95, 5e-3);
}

TEST(IterationSpread, StagesThatWaitForOneAnotherTakeLongerThanTheMeansDo) {
  const Pipeline made = pipeline_with(0.01, 0.02, 4, 8);
  const Iteration iteration = simulate_iteration(*made.problem, made.option);
  const double time = made.problem->seconds(iteration.makespan).value();
  const auto spread = sample_iterations(*made.problem, made.option,
                                        {.samples = 500, .deadline = iteration.makespan});
  ASSERT_TRUE(spread);
  EXPECT_GT(spread->time.mean, time * 1.01);
  EXPECT_LE(spread->time.p5, spread->time.p50);
  EXPECT_LE(spread->time.p50, spread->time.p95);
  EXPECT_GT(spread->late_share, 0.5);
  // Whoever waits draws 70 W a stage.
  EXPECT_NEAR(spread->energy.mean, iteration.energy.value() + 4 * 70 * (spread->time.mean - time),
              0.01 * iteration.energy.value());
}

TEST(IterationSpread, TheSameSeedGivesTheSameFigures) {
  const Pipeline made = pipeline_with(0.01, 0.02, 3, 4);
  const auto of = [&](int samples, std::uint64_t seed) {
    return *sample_iterations(*made.problem, made.option, {.samples = samples, .seed = seed});
  };
  EXPECT_EQ(of(100, 1).time.mean, of(100, 1).time.mean);
  EXPECT_EQ(of(100, 1).energy.p95, of(100, 1).energy.p95);
  EXPECT_NE(of(100, 1).time.mean, of(100, 2).time.mean);
  EXPECT_EQ(of(1, 1).time.p5, of(1, 1).time.p95);
}

TEST(IterationSpread, AProfileWithoutSpreadIsRefusedWithWhatToDo) {
  const Pipeline made = pipeline_with(0, 0, 2, 2);
  const auto spread = sample_iterations(*made.problem, made.option, {});
  ASSERT_FALSE(spread);
  EXPECT_THAT(spread.error().text(), testing::HasSubstr("time_spread"));
}

}  // namespace
}  // namespace perjoule
