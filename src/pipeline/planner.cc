#include "pipeline/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "pipeline/baselines.h"

namespace perjoule {
namespace {

PlannedIteration planned(const PipelineProblem& problem, const TimeCostFrontier& frontier,
                         const Schedule& schedule) {
  PlannedIteration one;
  const double bound = frontier.cost_at(schedule.makespan);
  one.plan = round_schedule(problem, schedule, bound);
  std::vector<std::uint32_t> option(one.plan.option.size());
  for (std::uint32_t a = 0; a < option.size(); ++a) {
    option[a] = problem.options(problem.class_of()[a])[one.plan.option[a]].index;
  }
  one.iteration = simulate_iteration(problem, option);
  one.bound = problem.total_energy(bound, schedule.makespan);
  one.energy = problem.total_energy(one.plan.effective, schedule.makespan);
  return one;
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
    if (!(time.value() > 0)) {
      return Error::invalid_argument(fmt::format("an iteration time of {}", to_text(time)),
                                     "it is above zero");
    }
    wanted.makespans.push_back(std::max(shortest, problem.ticks(time)));
  }
  for (const double slowdown : request.slowdowns) {
    if (!(slowdown >= 1)) {
      return Error::invalid_argument(fmt::format("a slowdown of {}", slowdown),
                                     "1 is the shortest iteration; it is at least that");
    }
    wanted.makespans.push_back(
        static_cast<Ticks>(std::floor(static_cast<double>(shortest) * slowdown)));
  }
  if (request.least_energy) wanted.flow = problem.flow_of_least_energy();
  PipelineStudy study;
  PJ_TRY(study.frontier_, problem.solve(wanted));
  study.highest_ = simulate_iteration(problem, highest_settings(problem));
  const auto& corners = study.frontier_.corners();
  study.least_energy_ = corners.back().makespan;
  for (const FrontierCorner& corner : corners) {
    if (corner.flow < problem.flow_of_least_energy()) continue;
    study.least_energy_ = corner.makespan;
    break;
  }
  Ticks last = -1;
  for (const Schedule& schedule : study.frontier_.schedules()) {
    if (schedule.makespan == last) continue;
    last = schedule.makespan;
    study.plans_.push_back(planned(problem, study.frontier_, schedule));
  }
  std::reverse(study.plans_.begin(), study.plans_.end());
  return study;
}

const PlannedIteration& PipelineStudy::for_straggler(Ticks until, StragglerPolicy policy) const {
  const Ticks cap = policy == StragglerPolicy::kLeastAlone ? std::min(until, least_energy_) : until;
  const auto after =
      std::partition_point(plans_.begin(), plans_.end(),
                           [cap](const PlannedIteration& one) { return one.plan.makespan <= cap; });
  return after == plans_.begin() ? plans_.front() : *(after - 1);
}

}  // namespace perjoule
