#include "pipeline/plan/planner.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <memory>

#include "pipeline/plan/baselines.h"

namespace perjoule {
namespace {

using testing::HasSubstr;

struct Row {
  int stage;
  std::string instruction;
  int clock;
  double time;
  double energy;
};

/// A problem on a profile of these rows.
struct Pipeline {
  std::unique_ptr<PipelineProfile> profile;
  std::unique_ptr<PipelineSchedule> schedule;
  std::optional<Result<PipelineProblem>> problem;

  Pipeline(const std::vector<Row>& rows, int microbatches, double blocking) {
    std::string text = "stage,instruction,frequency,time,energy\n";
    for (const Row& row : rows) {
      text += std::to_string(row.stage) + "," + row.instruction + "," + std::to_string(row.clock) +
              "," + std::to_string(row.time) + "," + std::to_string(row.energy) + "\n";
    }
    profile = std::make_unique<PipelineProfile>(*PipelineProfile::parse(text, "p.csv"));
    schedule = std::make_unique<PipelineSchedule>(
        *make_schedule("1f1b", {profile->stages(), microbatches, 1}));
    problem.emplace(PipelineProblem::make(*profile, *schedule, {Watts(blocking), {}}));
  }
  const PipelineProblem& operator*() const { return **problem; }
};

/// Two stages, the last heavier, two clocks each.
std::vector<Row> small() {
  return {{0, "forward", 1400, 1.0, 300},  {0, "forward", 1000, 1.25, 250},
          {0, "backward", 1400, 2.0, 600}, {0, "backward", 1000, 2.5, 500},
          {1, "forward", 1400, 1.5, 450},  {1, "forward", 1000, 1.9, 380},
          {1, "backward", 1400, 3.0, 900}, {1, "backward", 1000, 3.8, 760}};
}

TEST(Planner, NoSlowerPlanDrawsMoreUntilItsTimeWhateverWaitingTakesAtEachSetting) {
  Pipeline pipeline(small(), 4, 50);
  BlockingPower power;
  // Dearest at the setting that frugal plans leave stages at.
  for (const auto& [clock, watts] : {std::pair{"1400", 50.0}, {"1000", 200.0}}) {
    Config knob;
    knob.set("frequency", clock);
    power.by_knob.push_back({knob, Watts(watts)});
  }
  power.constant = Watts(200);
  const auto problem = PipelineProblem::make(*pipeline.profile, *pipeline.schedule, power);
  ASSERT_TRUE(problem);
  const auto study = study_pipeline(*problem, {.points = 30});
  ASSERT_TRUE(study);
  const auto& plans = study->plans();
  for (std::size_t i = 1; i < plans.size(); ++i) {
    const Seconds later = problem->seconds(plans[i].plan.requested - plans[i - 1].plan.requested);
    const Watts left = power.least() * 2 + plans[i - 1].iteration.left_above_least;
    const Joules faster_waits = plans[i - 1].energy + left * later;
    EXPECT_LE(plans[i].energy.value(), faster_waits.value() * (1 + 1e-9)) << i;
  }
}

TEST(Planner, AtTheSameTimeTheLightStageRunsSlower) {
  const Pipeline pipeline(small(), 4, 50);
  ASSERT_TRUE(*pipeline.problem);
  const auto study = study_pipeline(*pipeline, {.points = 0, .times = {}, .slowdowns = {1}});
  ASSERT_TRUE(study) << study.error().text();
  // Critical: forward 0, four times both of stage 1, backward 0.
  EXPECT_EQ(study->shortest(), 21'000'000);
  EXPECT_EQ(study->highest().makespan, 21'000'000);
  const PlannedIteration& plan = study->plans().front();
  EXPECT_EQ(plan.iteration.makespan, 21'000'000);
  EXPECT_LT(plan.iteration.energy, study->highest().energy);
  // What lies on the critical path stays at its highest clock, the rest of stage 0 does not.
  const auto& options = (*pipeline).options(0);
  EXPECT_EQ(options[plan.plan.option[0]].duration, 1'000'000);
  EXPECT_EQ(options[plan.plan.option[1]].duration, 1'250'000);
  EXPECT_NEAR(study->highest().energy.value(),
              4 * (300 + 600 + 450 + 900) + 50 * (2 * 21 - 4 * (1 + 2 + 1.5 + 3)), 1e-6);
}

TEST(Planner, TimesAreMadeOfWhatWasAskedFor) {
  const Pipeline pipeline(small(), 4, 50);
  const auto study = study_pipeline(
      *pipeline, {.points = 3, .times = {Seconds(22)}, .slowdowns = {1.02}, .least_energy = false});
  ASSERT_TRUE(study);
  std::vector<Ticks> requested;
  for (const PlannedIteration& one : study->plans()) requested.push_back(one.plan.requested);
  EXPECT_THAT(requested,
              testing::ElementsAre(21'000'000, 21'420'000, 22'000'000,
                                   (21'000'000 + study->longest()) / 2, study->longest()));
}

TEST(Planner, ATimeBeyondAllMeasureIsTheLongestThatSaves) {
  const Pipeline pipeline(small(), 4, 50);
  for (const double time : {1e9, 1e30, 1e300}) {
    const auto study = study_pipeline(
        *pipeline,
        {.points = 0, .times = {Seconds(time)}, .slowdowns = {time}, .least_energy = false});
    ASSERT_TRUE(study);
    ASSERT_EQ(study->plans().size(), 1U);
    EXPECT_EQ(study->plans()[0].plan.requested, study->longest());
  }
}

// The bound reckons with the least blocking power; a plan that waits at a dearer setting pays for
// it.
TEST(Planner, WaitingAtADearerSettingIsInThePlansEnergy) {
  const Pipeline pipeline(small(), 4, 50);
  BlockingPower power{Watts(90), {}};
  power.by_knob.push_back({Config(std::vector<Setting>{{"frequency", "1000"}}), Watts(50)});
  const auto problem = PipelineProblem::make(*pipeline.profile, *pipeline.schedule, power);
  ASSERT_TRUE(problem);
  const auto study = study_pipeline(*problem, {.points = 8});
  ASSERT_TRUE(study);
  for (const PlannedIteration& one : study->plans()) {
    const Seconds after = problem->seconds(one.plan.requested - one.plan.makespan);
    // As simulated, then waiting: at 50 W a stage at the least, at 90 W at most.
    EXPECT_GE(one.energy.value(), (one.iteration.energy + Watts(100) * after).value() - 1e-3);
    EXPECT_LE(one.energy.value(), (one.iteration.energy + Watts(180) * after).value() + 1e-3);
    EXPECT_GE(one.gap(), 0);
  }
  EXPECT_GT(study->plans().front().iteration.above_least.value(), 0);
}

TEST(Planner, WhatMakesNoSenseIsRefused) {
  const Pipeline pipeline(small(), 4, 50);
  EXPECT_FALSE(study_pipeline(*pipeline, {.points = 0, .times = {Seconds(0)}}));
  EXPECT_FALSE(study_pipeline(*pipeline, {.points = 0, .times = {Seconds(NAN)}}));
  EXPECT_FALSE(study_pipeline(*pipeline, {.points = 0, .times = {Seconds(INFINITY)}}));
  EXPECT_FALSE(study_pipeline(*pipeline, {.points = 0, .times = {}, .slowdowns = {INFINITY}}));
  EXPECT_FALSE(study_pipeline(*pipeline, {.points = 0, .times = {}, .slowdowns = {0.9}}));
}

TEST(Planner, AnInstructionOfOneSettingIsConstant) {
  std::vector<Row> rows = small();
  rows.erase(rows.begin() + 1);  // forward of stage 0 has one clock
  const Pipeline pipeline(rows, 4, 50);
  const auto study = study_pipeline(*pipeline, {.points = 5});
  ASSERT_TRUE(study) << study.error().text();
  for (const PlannedIteration& one : study->plans()) EXPECT_LE(one.gap(), 0.05);
}

TEST(Planner, NegativeEffectiveEnergyIsLegal) {
  const Pipeline pipeline(small(), 4, 400);  // a GPU that waits draws more than one that works
  const auto study = study_pipeline(*pipeline, {.points = 5});
  ASSERT_TRUE(study) << study.error().text();
  EXPECT_LT(study->frontier().cost_at(study->longest()), 0);
  EXPECT_EQ(study->least_energy(), study->shortest());
}

TEST(Planner, ALongPipelinesTimesAreSolvedByThemselves) {
  // At 400 W waiting the least energy is at the shortest time, where no flow is too large.
  for (const double blocking : {0.0, 50.0, 400.0}) {
    const Pipeline pipeline(small(), 12, blocking);
    const auto whole = study_pipeline(*pipeline, {.points = 7});
    std::size_t told = 0;
    PlanRequest request{.points = 7};
    request.most_for_whole_frontier = 0;
    request.progress = [&](std::size_t solved, std::size_t of) { told += solved <= of ? 1 : 0; };
    const auto alone = study_pipeline(*pipeline, request);
    ASSERT_TRUE(whole && alone);
    EXPECT_GE(told, 7U);
    EXPECT_TRUE(whole->frontier().whole());
    EXPECT_FALSE(alone->frontier().whole());
    EXPECT_EQ(alone->shortest(), whole->shortest());
    EXPECT_EQ(alone->longest(), whole->longest());
    EXPECT_EQ(alone->least_energy(), whole->least_energy());
    ASSERT_EQ(alone->plans().size(), whole->plans().size());
    for (std::size_t i = 0; i < alone->plans().size(); ++i) {
      const PlannedIteration& one = alone->plans()[i];
      EXPECT_EQ(one.plan.requested, whole->plans()[i].plan.requested);
      EXPECT_NEAR(one.bound / whole->plans()[i].bound, 1, 1e-12);
      EXPECT_LE(one.plan.makespan, one.plan.requested);
      EXPECT_GE(one.gap(), -1e-12);
    }
    // Fewer times, and T* is known all the same.
    PlanRequest single{.points = 0, .times = {}, .slowdowns = {1.05}, .least_energy = false};
    single.most_for_whole_frontier = 0;
    const auto one = study_pipeline(*pipeline, single);
    ASSERT_TRUE(one);
    EXPECT_EQ(one->plans().size(), 1U);
    EXPECT_EQ(one->least_energy(), whole->least_energy());
  }
}

TEST(Planner, TimesSixDecadesApartDoNotOverflow) {
  const Pipeline pipeline({{0, "forward", 1400, 1e-5, 1},
                           {0, "forward", 1000, 2e-5, 0.5},
                           {0, "backward", 1400, 10, 3000},
                           {0, "backward", 1000, 20, 2000},
                           {1, "forward", 1400, 0.01, 3},
                           {1, "forward", 1000, 0.02, 2},
                           {1, "backward", 1400, 0.5, 3},
                           {1, "backward", 1000, 1, 2}},
                          64, 50);
  ASSERT_TRUE(*pipeline.problem) << pipeline.problem->error().text();
  const auto study = study_pipeline(*pipeline, {.points = 5});
  ASSERT_TRUE(study) << study.error().text();
  EXPECT_NEAR((*pipeline).seconds(study->shortest()).value(), 64 * (1e-5 + 10) + 0.51, 0.1);
}

TEST(Planner, TimesThatNoTickHoldsAreRefused) {
  const Pipeline pipeline({{0, "forward", 1400, 1e-6, 1}, {0, "backward", 1400, 1e9, 3000}}, 64'000,
                          50);
  ASSERT_FALSE(*pipeline.problem);
  EXPECT_EQ(pipeline.problem->error().code, ErrorCode::kOutOfRange);
}

TEST(Planner, FiguresThatAreNoMeasurementsAreRefused) {
  EXPECT_TRUE(Pipeline(small(), 4, 1e9).problem->has_value());
  const auto error_of = [](const Pipeline& pipeline) {
    return *pipeline.problem ? std::string("no error") : pipeline.problem->error().text();
  };
  EXPECT_THAT(error_of(Pipeline(small(), 4, 1.1e9)), HasSubstr("blocking power above 1.000 GW"));
  EXPECT_THAT(error_of(Pipeline(small(), 4, NAN)), HasSubstr("blocking power"));
  Pipeline pipeline(small(), 4, 50);
  for (const auto& [time, energy] : {std::pair(1e10, 1.0), std::pair(1.0, 1e300)}) {
    pipeline.profile->scale(time, energy);
    const auto problem =
        PipelineProblem::make(*pipeline.profile, *pipeline.schedule, {Watts(50), {}});
    ASSERT_FALSE(problem);
    EXPECT_EQ(problem.error().code, ErrorCode::kOutOfRange);
    EXPECT_THAT(problem.error().text(), HasSubstr("forward of stage 0 takes "));
    pipeline.profile->scale(1 / time, 1 / energy);
  }
  SwitchCost dear;
  dear.energy = Joules(1e16);
  EXPECT_FALSE(PipelineProblem::make(*pipeline.profile, *pipeline.schedule, {Watts(50), {}}, dear));
}

TEST(Planner, AStagesCountHasToMatch) {
  const Pipeline pipeline(small(), 4, 50);
  const auto other = make_schedule("1f1b", {3, 4, 1});
  const auto problem = PipelineProblem::make(*pipeline.profile, *other, {Watts(50), {}});
  ASSERT_FALSE(problem);
  EXPECT_THAT(problem.error().text(), HasSubstr("p.csv has 2 stages, the schedule 3"));
  const Pipeline single({{0, "forward", 1400, 1, 3}, {0, "backward", 1400, 1, 3}}, 4, 50);
  EXPECT_THAT(PipelineProblem::make(*single.profile, *other, {Watts(50), {}}).error().text(),
              HasSubstr("p.csv has 1 stage, the schedule 3"));
}

TEST(Straggler, ThePlanIsNeverLateUnlessNoneIsInTime) {
  const Pipeline pipeline(small(), 4, 50);
  const auto study = study_pipeline(*pipeline, {.points = 30});
  ASSERT_TRUE(study);
  for (Ticks until = 20'000'000; until < 40'000'000; until += 100'000) {
    for (const auto policy : {StragglerPolicy::kLeastUntil, StragglerPolicy::kLeastAlone}) {
      const Ticks taken = study->for_straggler(until, policy).plan.makespan;
      EXPECT_LE(taken, std::max(until, study->shortest()));
    }
  }
}

/// Random profiles of two to four stages, with dominated and non-convex options.
Pipeline random_pipeline() {
  std::vector<Row> rows;
  const int stages = *rc::gen::inRange(1, 5);
  for (int stage = 0; stage < stages; ++stage) {
    for (const char* instruction : {"forward", "backward"}) {
      const int options = *rc::gen::inRange(1, 8);
      for (int i = 0; i < options; ++i) {
        rows.push_back({stage, instruction, 1400 - i, *rc::gen::inRange(1000, 9000) * 1e-3,
                        *rc::gen::inRange(100, 3000) * 1.0});
      }
    }
  }
  return Pipeline(rows, *rc::gen::inRange(1, 9), *rc::gen::inRange(0, 400));
}

RC_GTEST_PROP(Refinement, KeepsTheTimeAndNeverCostsMore, ()) {
  const Pipeline pipeline = random_pipeline();
  RC_ASSERT(*pipeline.problem);
  const PipelineProblem& problem = *pipeline;
  const Ticks makespan = *rc::gen::inRange<Ticks>(
      problem.shortest(), std::max(problem.longest(), problem.shortest() + 1));
  const auto frontier = problem.solve({.makespans = {makespan}});
  RC_ASSERT(frontier);
  const Schedule& schedule = frontier->schedules().front();
  const double bound = frontier->cost_at(schedule.makespan);
  const PipelinePlan rounded = round_schedule(problem, schedule, bound);
  RC_ASSERT(rounded.makespan <= rounded.requested);
  const PipelinePlan refined =
      refine_plan(problem, schedule, rounded, {.most_tries = 1200, .enough = 0});
  RC_ASSERT(refined.makespan <= refined.requested);
  RC_ASSERT(refined.effective <= rounded.effective + 1e-9 * std::abs(rounded.effective));
  RC_ASSERT(refined.effective >= bound - 1e-6 * std::abs(bound) - 1e-6);
  const Iteration iteration = simulate_iteration(problem, measured_options(problem, refined));
  RC_ASSERT(iteration.makespan == refined.makespan);
  // The same problem gives the same plan.
  RC_ASSERT(refine_plan(problem, schedule, rounded, {.most_tries = 1200, .enough = 0}).option ==
            refined.option);
}

RC_GTEST_PROP(Planner, PlansAreInTimeAboveTheBoundAndNeverWorseThanTheHighestSetting, ()) {
  const Pipeline pipeline = random_pipeline();
  RC_ASSERT(*pipeline.problem);
  const PipelineProblem& problem = *pipeline;
  const auto study = study_pipeline(problem, {.points = 12});
  RC_ASSERT(study);
  double effective = INFINITY;
  double planned = INFINITY;
  Ticks last = 0;
  for (const PlannedIteration& one : study->plans()) {
    RC_ASSERT(one.plan.makespan <= one.plan.requested);
    RC_ASSERT(one.iteration.makespan == one.plan.makespan);
    RC_ASSERT(one.plan.effective >= one.plan.bound - 1e-6 * std::abs(one.plan.bound) - 1e-6);
    RC_ASSERT(one.plan.requested > last);
    last = one.plan.requested;
    // Energy of the bound never rises with the time that is allowed.
    RC_ASSERT(one.plan.bound <= effective + 1e-9 * std::abs(effective));
    effective = one.plan.bound;
    // Nor does that of the plans.
    RC_ASSERT(one.plan.effective <= planned);
    planned = one.plan.effective;
    // Every joule is of an instruction or of waiting.
    RC_ASSERT(
        std::abs((one.iteration.working + one.iteration.waiting - one.iteration.energy).value()) <
        1e-6);
  }
  if (study->highest().makespan >= study->shortest()) {
    const PlannedIteration& plan =
        study->for_straggler(study->highest().makespan, StragglerPolicy::kLeastUntil);
    RC_ASSERT(problem.total_energy(study->frontier().cost_at(study->highest().makespan),
                                   study->highest().makespan) <=
              study->highest().energy + Joules(1e-3));
    RC_ASSERT(plan.plan.makespan <= study->highest().makespan);
  }
}

}  // namespace
}  // namespace perjoule
