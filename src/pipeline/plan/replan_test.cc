// replan(): one plan from the exact schedule before, after the profile has changed.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "math/random.h"
#include "pipeline/plan/planner.h"

namespace perjoule {
namespace {

/// Three stages of unlike weight; time as 1/clock, power with its cube.
PipelineProfile profile_of(double heavier, double dearer) {
  std::vector<ProfiledInstruction> instructions;
  for (int stage = 0; stage < 3; ++stage) {
    for (const auto& [name, work] : {std::pair{"forward", 0.02}, {"backward", 0.041}}) {
      ProfiledInstruction one{stage, 0, name, {}};
      for (const int clock : {1410, 1320, 1230, 1140, 1050, 960, 870}) {
        const double speed = clock / 1410.0;
        const double time = work * (1 + 0.05 * stage) * (stage == 1 ? heavier : 1) / speed;
        const double power = 110 + 230 * speed * speed * speed;
        Config knob;
        knob.set("clock", std::to_string(clock) + " MHz");
        one.options.push_back(
            {knob, Seconds(time), Joules(time * power * (stage == 1 ? dearer : 1)), {}, {}});
      }
      instructions.push_back(std::move(one));
    }
  }
  return *PipelineProfile::make(std::move(instructions), "test");
}

struct Problem {
  PipelineProfile profile;
  PipelineSchedule schedule = *make_schedule("1f1b", {.stages = 3, .microbatches = 10});
  PipelineProblem problem;
  explicit Problem(double heavier, double dearer = 1, const SwitchCost& switching = {})
      : profile(profile_of(heavier, dearer)),
        problem(*PipelineProblem::make(profile, schedule, {Watts(70), {}}, switching)) {}
  Problem(const Problem&) = delete;
};

TEST(Replan, HasTheBoundOfSolvingAnewAndIsInTime) {
  const Problem before(1);
  const auto study = study_pipeline(before.problem, {.points = 8});
  ASSERT_TRUE(study);
  Random random(3);
  for (int i = 0; i < 40; ++i) {
    const Problem after(0.7 + 0.8 * random.uniform(), 0.8 + 0.5 * random.uniform());
    const Ticks shortest = after.problem.shortest();
    const Ticks longest = after.problem.longest();
    const auto makespan = shortest + static_cast<Ticks>((1.2 * random.uniform() - 0.1) *
                                                        static_cast<double>(longest - shortest));
    const Seconds time = after.problem.seconds(makespan);
    const auto anew = study_pipeline(after.problem, {.times = {time}, .least_energy = false});
    ASSERT_TRUE(anew);
    const auto again = replan(after.problem, study->schedule_near(makespan), time);
    ASSERT_TRUE(again) << again.error().text();
    const PlannedIteration& plan = again->plan;
    EXPECT_EQ(plan.plan.requested, anew->plans().front().plan.requested);
    EXPECT_NEAR(plan.bound / anew->plans().front().bound, 1, 1e-9);
    EXPECT_LE(plan.iteration.makespan, plan.plan.requested);
    EXPECT_GE(plan.gap(), -1e-9);
    EXPECT_LT(plan.gap(), 0.01) << i;
    // And the next one starts from it.
    const auto once_more = replan(after.problem, again->schedule, time);
    ASSERT_TRUE(once_more);
    EXPECT_NEAR(once_more->plan.bound / plan.bound, 1, 1e-12);
  }
}

TEST(Replan, CountsChangesOfSetting) {
  const SwitchCost slow{.time = Seconds(0.005)};
  const Problem before(1, 1, slow);
  const auto study = study_pipeline(before.problem, {.slowdowns = {1.05}});
  ASSERT_TRUE(study);
  const Problem after(1.1, 1, slow);
  const auto again = replan(after.problem, study->schedule_near(study->shortest()),
                            after.problem.seconds(after.problem.shortest()) * 1.05);
  ASSERT_TRUE(again);
  EXPECT_LE(again->plan.iteration.makespan, again->plan.plan.requested);
  EXPECT_LT(again->plan.iteration.switches, 30U);
}

TEST(Replan, OfAnotherPipelineIsRefused) {
  const Problem before(1);
  const auto study = study_pipeline(before.problem, {.points = 2});
  const auto other = make_schedule("1f1b", {.stages = 3, .microbatches = 4});
  const auto problem = PipelineProblem::make(before.profile, *other, {Watts(70), {}});
  ASSERT_TRUE(problem);
  EXPECT_FALSE(replan(*problem, study->schedule_near(0), Seconds(1)));
}

}  // namespace
}  // namespace perjoule
