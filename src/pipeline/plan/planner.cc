#include "pipeline/plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "base/text.h"
#include "pipeline/plan/baselines.h"
#include "pipeline/plan/rounded_plans.h"
#include "pipeline/plan/switching.h"
#include "pipeline/solver/cost_curve.h"
#include "pipeline/solver/time_cost_repair.h"

namespace perjoule {
namespace {

/// Makespans, evenly, that plans are made for to mix others from.
constexpr int kMixingPoints = 40;

PlannedIteration planned(const PipelineProblem& problem, const PipelinePlan& plan) {
  PlannedIteration one;
  one.plan = plan;
  one.iteration = simulate_iteration(problem, measured_options(problem, plan));
  one.bound = problem.total_energy(plan.bound, plan.requested);
  // Effective energy reckons with the least blocking power; what waiting draws above that is drawn.
  one.energy = problem.total_energy(plan.effective, plan.requested) + one.iteration.above_least +
               one.iteration.left_above_least * problem.seconds(plan.requested - plan.makespan);
  return one;
}

/// A plan, one of `plans`, with as few changes of setting as pay.
PipelinePlan with_settings_kept(const PipelineProblem& problem, std::span<const PipelinePlan> plans,
                                const PipelinePlan& plan, const PipelinePlan* faster) {
  return problem.switching().any()
             ? plan_with_switches(problem, plans, plan.requested, plan.bound, faster)
             : keep_equal_settings(problem, plan);
}

/// A slower plan that draws more until its time than a faster one is no plan: the faster one waits.
/// Effective energies are in order already; what waiting draws above the least power, and changes
/// of setting, are not in them.
void level(const PipelineProblem& problem, std::vector<PlannedIteration>& plans) {
  for (std::size_t i = 1; i < plans.size(); ++i) {
    PipelinePlan faster = plans[i - 1].plan;
    faster.requested = plans[i].plan.requested;
    faster.bound = plans[i].plan.bound;
    PlannedIteration waits = planned(problem, faster);
    // One that is late for want of a better one is no better than one that is in time.
    if (waits.plan.makespan <= faster.requested && waits.energy < plans[i].energy)
      plans[i] = std::move(waits);
  }
}

}  // namespace

Result<PipelineStudy> study_pipeline(const PipelineProblem& problem, const PlanRequest& request) {
  ScheduleTimes wanted;
  const Ticks shortest = problem.shortest();
  const Ticks longest = problem.longest();
  for (int i = 0; i < request.points; ++i) {
    wanted.makespans.push_back(
        request.points == 1
            ? shortest
            : shortest + static_cast<Ticks>(std::llround(static_cast<double>(longest - shortest) *
                                                         i / (request.points - 1))));
  }
  for (const Seconds time : request.times) {
    if (!(time.value() > 0) || !std::isfinite(time.value())) {
      return Error::invalid_argument(fmt::format("an iteration time of {}", to_text(time)),
                                     "it is above zero and has an end");
    }
    wanted.makespans.push_back(std::max(shortest, problem.ticks(time)));
  }
  for (const double slowdown : request.slowdowns) {
    if (!(slowdown >= 1) || !std::isfinite(slowdown)) {
      return Error::invalid_argument(fmt::format("a slowdown of {}", slowdown),
                                     "1 is the shortest iteration; it is at least that");
    }
    wanted.makespans.push_back(problem.ticks(problem.seconds(shortest) * slowdown));
  }
  // More than was asked for, to mix from.
  std::vector<Ticks> asked;
  for (Ticks& makespan : wanted.makespans) {
    asked.push_back(makespan = std::clamp(makespan, shortest, longest));
  }
  const bool whole = problem.network().size() <= request.most_for_whole_frontier;
  for (int i = 0; whole && i <= kMixingPoints; ++i) {
    wanted.makespans.push_back(shortest + (longest - shortest) * i / kMixingPoints);
  }
  if (request.least_energy || !whole) wanted.flow = problem.flow_of_least_energy();
  PipelineStudy study;
  PJ_TRY(study.frontier_,
         whole ? problem.solve(wanted) : problem.solve_only(wanted, request.progress));
  study.highest_ = simulate_iteration(problem, highest_settings(problem));
  const auto& corners = study.frontier_.corners();
  study.least_energy_ = corners.back().makespan;
  for (const FrontierCorner& corner : corners) {
    if (corner.flow < problem.flow_of_least_energy()) continue;
    study.least_energy_ = corner.makespan;
    break;
  }
  if (request.least_energy) asked.push_back(study.least_energy_);
  RoundedPlans rounded(problem, study.frontier_, asked);
  rounded.better();
  std::vector<PipelinePlan> plans = rounded.plans();
  plans.erase(std::unique(plans.begin(), plans.end(),
                          [](const PipelinePlan& one, const PipelinePlan& other) {
                            return one.requested == other.requested;
                          }),
              plans.end());
  study.plans_.resize(plans.size());
  if (problem.switching().any()) {
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const PipelinePlan* const faster = i == 0 ? nullptr : &study.plans_[i - 1].plan;
      study.plans_[i] = planned(problem, with_settings_kept(problem, plans, plans[i], faster));
    }
  } else {
    in_parallel(plans.size(), [&](std::size_t i) {
      study.plans_[i] = planned(problem, with_settings_kept(problem, plans, plans[i], nullptr));
    });
  }
  if (!problem.power().by_knob.empty() || problem.switching().any()) level(problem, study.plans_);
  return study;
}

Result<Replanned> replan(const PipelineProblem& problem, const Schedule& before, Seconds time) {
  const Ticks makespan = std::clamp(problem.ticks(time), problem.shortest(), problem.longest());
  Replanned answer;
  PJ_TRY(answer.schedule, repair_schedule(problem.network(), problem.order(), problem.class_of(),
                                          problem.curves(), before, makespan));
  double bound = 0;
  for (std::uint32_t a = 0; a < problem.network().size(); ++a) {
    bound += problem.curves().cost(problem.class_of()[a],
                                   answer.schedule.end[a] - answer.schedule.start[a]);
  }
  const PipelinePlan plan =
      refine_if_rough(problem, answer.schedule, round_schedule(problem, answer.schedule, bound));
  answer.plan = planned(problem, with_settings_kept(problem, std::span(&plan, 1), plan, nullptr));
  return answer;
}

const Schedule& PipelineStudy::schedule_near(Ticks makespan) const {
  const auto schedules = frontier_.schedules();
  return *std::min_element(
      schedules.begin(), schedules.end(), [makespan](const Schedule& a, const Schedule& b) {
        return std::abs(a.makespan - makespan) < std::abs(b.makespan - makespan);
      });
}

const PlannedIteration& PipelineStudy::for_straggler(Ticks until, StragglerPolicy policy) const {
  const Ticks cap = policy == StragglerPolicy::kLeastAlone ? std::min(until, least_energy_) : until;
  // By what was asked for, which is in order; no plan takes longer, and none more energy until its
  // time than one before it would.
  const auto after = std::partition_point(
      plans_.begin(), plans_.end(),
      [cap](const PlannedIteration& one) { return one.plan.requested <= cap; });
  return after == plans_.begin() ? plans_.front() : *(after - 1);
}

}  // namespace perjoule
