#include "pipeline/plan/iteration_detail.h"

#include <gtest/gtest.h>

#include "pipeline/plan/baselines.h"

namespace perjoule {
namespace {

constexpr const char* kProfile =
    "stage,instruction,clock,time,energy\n"
    "0,forward,1400,1,100\n0,forward,1000,1.5,80\n0,backward,1400,2,210\n0,backward,1000,3,170\n"
    "1,forward,1400,1,100\n1,forward,1000,1.5,80\n1,backward,1400,2,210\n1,backward,1000,3,170\n";

TEST(IterationDetail, PartsAddUpToTheIteration) {
  const auto profile = PipelineProfile::parse(kProfile, "p");
  ASSERT_TRUE(profile);
  const auto schedule = make_schedule("1f1b", {.stages = 2, .microbatches = 2});
  ASSERT_TRUE(schedule);
  BlockingPower power{Watts(50), {}};
  Config low;
  low.set("clock", "1000");
  power.by_knob.push_back({low, Watts(30)});
  const auto problem = PipelineProblem::make(*profile, *schedule, power);
  ASSERT_TRUE(problem);
  std::vector<std::uint32_t> option = highest_settings(*problem);
  option[2] = 1;  // stage 0: F0 F1 B0 B1, the first backward at the low clock
  const Iteration iteration = simulate_iteration(*problem, option);
  const auto& stages = iteration.stages;
  ASSERT_EQ(stages.size(), 2U);
  Joules working, waiting;
  std::size_t switches = 0;
  for (std::size_t s = 0; s < 2; ++s) {
    working += stages[s].working;
    waiting += stages[s].waiting;
    switches += stages[s].switches;
    EXPECT_DOUBLE_EQ((stages[s].busy + stages[s].waited).value(),
                     problem->seconds(iteration.makespan).value());
  }
  EXPECT_DOUBLE_EQ(working.value(), iteration.working.value());
  EXPECT_DOUBLE_EQ(waiting.value(), iteration.waiting.value());
  EXPECT_DOUBLE_EQ(stages[0].waited.value(), 2);  // of 9 s, 7 and 6 are instructions
  EXPECT_DOUBLE_EQ(stages[1].waited.value(), 3);
  EXPECT_EQ(switches, iteration.switches);
  EXPECT_EQ(switches, 2U);

  // F0 0-1, F1 1-2 | B0 4-7 (low), B1 7-9; stage 1: F0 1-2, B0 2-4, F1 4-5, B1 5-7.
  EXPECT_DOUBLE_EQ(problem->seconds(iteration.makespan).value(), 9);
  const auto steps = activity_details(*problem, option, iteration);
  EXPECT_EQ(steps[2].slack, 0);
  EXPECT_TRUE(steps[2].switched);
  EXPECT_DOUBLE_EQ(problem->seconds(steps[1].slack).value(), 2);  // F1 of stage 0: until 4
  EXPECT_EQ(steps[7].slack, 0);                                   // B1 of stage 1 ends at 7
}

TEST(IterationDetail, WhatHasNoSettingKeepsTheStagesOwn) {
  const auto profile = PipelineProfile::parse(
      "stage,instruction,clock,time,energy\n0,load,,1,5\n0,forward,1400,1,100\n"
      "0,forward,1000,2,80\n0,backward,1400,2,210\n0,step,,1,30\n",
      "p");
  ASSERT_TRUE(profile) << profile.error().text();
  const auto schedule = make_schedule(
      "1f1b", {.stages = 1, .microbatches = 2, .load = "load", .stage_end = {"step"}});
  ASSERT_TRUE(schedule);
  const auto problem = PipelineProblem::make(*profile, *schedule, {Watts(50), {}});
  ASSERT_TRUE(problem) << problem.error().text();
  // load F0 B0 load F1 B1 step: the second forward alone is slow.
  std::vector<std::uint32_t> option = highest_settings(*problem);
  EXPECT_EQ(simulate_iteration(*problem, option).switches, 0U);
  option[4] = 1;
  const Iteration iteration = simulate_iteration(*problem, option);
  EXPECT_EQ(iteration.switches, 2U);
  const auto steps = activity_details(*problem, option, iteration);
  EXPECT_EQ(steps[0].knob, steps[1].knob);
  EXPECT_EQ(steps[3].knob, steps[2].knob);
  EXPECT_TRUE(steps[4].switched);
  EXPECT_FALSE(steps[6].switched);
}

}  // namespace
}  // namespace perjoule
