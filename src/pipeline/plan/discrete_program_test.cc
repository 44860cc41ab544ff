// Plans of measured options against the best that there is, on pipelines so small that a
// mixed-integer solver finds it and proves it.
#include "pipeline/plan/discrete_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>

#include "pipeline/plan/planner.h"

namespace perjoule {
namespace {

struct Pipeline {
  std::unique_ptr<PipelineProfile> profile;
  std::unique_ptr<PipelineSchedule> schedule;
  std::unique_ptr<PipelineProblem> problem;
};

/// A share of 1, the same on every machine (distributions of the standard library are not).
double share(std::mt19937& random) { return static_cast<double>(random()) / 4294967296.0; }

/// Stages up to 40 % apart, each of its instructions with its own mix of what goes with the clock
/// and what does not; clocks some 9 % apart, measured with an error of a percent.
Pipeline random_pipeline(unsigned seed, int stages, int microbatches, int options) {
  std::mt19937 random(seed);
  std::vector<ProfiledInstruction> instructions;
  for (int stage = 0; stage < stages; ++stage) {
    const double weight = 1 + 0.4 * share(random);
    for (const char* name : {"forward", "backward"}) {
      const double base = weight * (std::string_view(name) == "forward" ? 0.05 : 0.11);
      const double bound_by_clock = 0.55 + 0.4 * share(random);
      ProfiledInstruction one{stage, 0, name, {}};
      for (int k = 0; k < options; ++k) {
        const double clock = 1 - 0.09 * k;
        const double time = base * (1 - bound_by_clock + bound_by_clock / clock) *
                            (1 + 0.01 * (share(random) - 0.5));
        const double power =
            (80 + 300 * clock * clock * clock) * (1 + 0.01 * (share(random) - 0.5));
        Config knob;
        knob.set("clock", std::to_string(1400 - 126 * k));
        one.options.push_back({knob, Seconds(time), Joules(time * power), {}, {}, 1});
      }
      instructions.push_back(std::move(one));
    }
  }
  Pipeline pipeline;
  pipeline.profile = std::make_unique<PipelineProfile>(
      *PipelineProfile::make(std::move(instructions), "random profile"));
  pipeline.schedule = std::make_unique<PipelineSchedule>(
      *make_schedule("1f1b", {.stages = stages, .microbatches = microbatches}));
  pipeline.problem = std::make_unique<PipelineProblem>(
      *PipelineProblem::make(*pipeline.profile, *pipeline.schedule, {Watts(70), {}}));
  return pipeline;
}

/// Every choice there is, one by one.
double least_by_trying(const PipelineProblem& problem, Ticks makespan) {
  const std::uint32_t count = problem.network().size();
  std::vector<std::uint32_t> option(count, 0);
  std::vector<Ticks> durations(count);
  double least = INFINITY;
  for (;;) {
    double sum = 0;
    for (std::uint32_t a = 0; a < count; ++a) {
      const PipelineOption& one = problem.options(problem.class_of()[a])[option[a]];
      durations[a] = one.duration;
      sum += one.effective;
    }
    if (sum < least &&
        earliest_times(problem.network(), problem.order(), durations).makespan <= makespan) {
      least = sum;
    }
    std::uint32_t a = 0;
    while (a < count && ++option[a] == problem.options(problem.class_of()[a]).size()) {
      option[a++] = 0;
    }
    if (a == count) return least;
  }
}

TEST(DiscreteProgram, FindsWhatTryingEveryChoiceFinds) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    const Pipeline pipeline = random_pipeline(seed, 2, 2, 3);
    const PipelineProblem& problem = *pipeline.problem;
    for (const double place : {0.0, 0.3, 0.7}) {
      const Ticks t =
          problem.shortest() +
          std::llround(place * static_cast<double>(problem.longest() - problem.shortest()));
      const DiscreteBest best = least_of_options(problem, t, {}, {.nodes = 100'000});
      const double least = least_by_trying(problem, t);
      EXPECT_TRUE(best.optimal);
      EXPECT_NEAR(best.found, least, 1e-9 * least);
      EXPECT_NEAR(best.proven, least, 1e-6 * least);
    }
  }
}

TEST(DiscreteProgram, PlansOfSmallPipelinesAreCloseToTheBestThereIs) {
  double above_best = 0;
  double best_above_bound = 0;
  int proven = 0;
  int plans = 0;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const Pipeline pipeline = random_pipeline(seed, 3, 3, 5);
    const PipelineProblem& problem = *pipeline.problem;
    const auto study = study_pipeline(problem, {.points = 5});
    ASSERT_TRUE(study) << study.error().text();
    for (const PlannedIteration& planned : study->plans()) {
      const PipelinePlan& plan = planned.plan;
      const DiscreteBest best =
          least_of_options(problem, plan.requested, plan.option, {.nodes = 20'000});
      const double whole = planned.bound.value();  // waiting included, as in a plan's gap
      ++plans;
      EXPECT_GE(plan.effective, best.proven - 1e-6 * whole);
      EXPECT_GE(best.proven, plan.bound - 1e-6 * whole);
      if (!best.optimal) continue;
      ++proven;
      EXPECT_LE(best.found, plan.effective + 1e-6 * whole);
      EXPECT_LE(plan.effective - best.found, 0.002 * whole)
          << "seed " << seed << ", " << problem.seconds(plan.requested).value() << " s";
      above_best = std::max(above_best, (plan.effective - best.found) / whole);
      best_above_bound = std::max(best_above_bound, (best.found - plan.bound) / whole);
    }
  }
  EXPECT_EQ(proven, plans);
  std::cout << plans << " plans, " << proven << " with a proven best: at most " << 100 * above_best
            << " % above it, which is at most " << 100 * best_above_bound << " % above the bound\n";
}

}  // namespace
}  // namespace perjoule
