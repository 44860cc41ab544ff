#include "pipeline/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "pipeline/baselines.h"
#include "pipeline/cost_curve.h"
#include "pipeline/switching.h"

namespace perjoule {
namespace {

/// Makespans, evenly, that plans are made for to mix others from.
constexpr int kMixingPoints = 40;

/// A plan's distance from the bound, as a share of the iteration's energy.
double gap_of(const PipelineProblem& problem, const PipelinePlan& plan) {
  return (plan.effective - plan.bound) / problem.total_energy(plan.bound, plan.requested).value();
}

/// Plans of many makespans, rounded one by one and then mixed where that is better.
class Rounded {
 public:
  /// Rounds the schedules of the makespans asked for, and the others only where some of those are
  /// rough.
  Rounded(const PipelineProblem& problem, const TimeCostFrontier& frontier,
          const std::vector<Ticks>& asked)
      : problem_(problem), frontier_(frontier) {
    const auto is_asked = [&](const Schedule& schedule) {
      return std::find(asked.begin(), asked.end(), schedule.makespan) != asked.end();
    };
    const auto round_those = [&](bool wanted) {
      for (const Schedule& schedule : frontier.schedules()) {
        if (is_asked(schedule) != wanted) continue;
        plans_.push_back(round_schedule(problem, schedule, frontier.cost_at(schedule.makespan)));
      }
    };
    round_those(true);
    is_rough_ = std::any_of(plans_.begin(), plans_.end(),
                            [&](const PipelinePlan& plan) { return gap_of(problem, plan) > kMix; });
    if (is_rough_) round_those(false);
    std::sort(plans_.begin(), plans_.end(), [](const PipelinePlan& a, const PipelinePlan& b) {
      return a.requested < b.requested;
    });
  }
  /// Betters those that are rough, at a cost in time that grows with how rough they are.
  Outcome better();
  const std::vector<PipelinePlan>& plans() const { return plans_; }

 private:
  Outcome dive_for_shortest();
  void mix();
  void polish();
  void level();
  /// Gaps above which a step is worth its time: mixing costs a plan's rounding, polishing the
  /// square of the activities, diving another solution.
  static constexpr double kMix = 0.002, kPolish = 0.002, kDive = 0.006;
  static constexpr std::size_t kMostPolished = 256;

  const PipelineProblem& problem_;
  const TimeCostFrontier& frontier_;
  std::vector<PipelinePlan> plans_;  ///< fastest first
  bool is_rough_ = false;
};

Outcome Rounded::better() {
  if (is_rough_) {
    PJ_CHECK(dive_for_shortest());
    mix();
    polish();
  }
  level();
  return {};
}

/// A slower plan that takes more than a faster one is no plan: the faster one waits.
void Rounded::level() {
  for (std::size_t i = 1; i < plans_.size(); ++i) {
    const PipelinePlan& faster = plans_[i - 1];
    if (plans_[i].effective <= faster.effective) continue;
    plans_[i].option = faster.option;
    plans_[i].makespan = faster.makespan;
    plans_[i].effective = faster.effective;
  }
}

/// There is no faster plan to mix the shortest with, and whatever it loses the next ones lose too.
Outcome Rounded::dive_for_shortest() {
  PipelinePlan& shortest = plans_.front();
  if (gap_of(problem_, shortest) <= kDive) return {};
  PJ_TRY(shortest, dive(problem_, frontier_.schedules().back(), shortest.bound));
  return {};
}

void Rounded::polish() {
  if (problem_.class_of().size() > kMostPolished) return;
  for (PipelinePlan& plan : plans_) {
    if (gap_of(problem_, plan) > kPolish) plan = polish_plan(problem_, plan);
  }
}

/// The corners of the lower convex hull of plans over their makespans lose least; between two of
/// them a mixture of the two loses little more.
void Rounded::mix() {
  std::vector<CostPoint> points;
  for (const PipelinePlan& plan : plans_) points.push_back({plan.makespan, plan.effective});
  const std::vector<CostPoint> hull = falling_hull(points);
  const auto find = [this](const CostPoint& corner) -> const PipelinePlan& {
    return *std::find_if(plans_.begin(), plans_.end(), [&](const PipelinePlan& plan) {
      return plan.makespan == corner.duration && plan.effective == corner.cost;
    });
  };
  std::vector<PipelinePlan> mixed = plans_;
  for (PipelinePlan& plan : mixed) {
    if (gap_of(problem_, plan) <= kMix) continue;
    const auto slow = std::partition_point(hull.begin(), hull.end(), [&](const CostPoint& corner) {
      return corner.duration <= plan.requested;
    });
    if (slow == hull.begin()) continue;  // nothing is faster
    const PipelinePlan& fast = find(*(slow - 1));
    PipelinePlan better = slow == hull.end()
                              ? fast
                              : mix_plans(problem_, fast, find(*slow), plan.requested, plan.bound);
    if (better.effective >= plan.effective) continue;
    better.requested = plan.requested;
    better.bound = plan.bound;
    plan = std::move(better);
  }
  plans_ = std::move(mixed);
}

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
  for (int i = 0; i <= kMixingPoints; ++i) {
    wanted.makespans.push_back(shortest + (longest - shortest) * i / kMixingPoints);
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
  if (request.least_energy) asked.push_back(study.least_energy_);
  Rounded rounded(problem, study.frontier_, asked);
  PJ_CHECK(rounded.better());
  Ticks last = -1;
  for (const PipelinePlan& plan : rounded.plans()) {
    const bool is_asked = std::find(asked.begin(), asked.end(), plan.requested) != asked.end();
    if (plan.requested == last || !is_asked) continue;
    last = plan.requested;
    const PipelinePlan* const faster = study.plans_.empty() ? nullptr : &study.plans_.back().plan;
    study.plans_.push_back(planned(
        problem, problem.switching().any() ? plan_with_switches(problem, rounded.plans(),
                                                                plan.requested, plan.bound, faster)
                                           : keep_equal_settings(problem, plan)));
  }
  return study;
}

const PlannedIteration& PipelineStudy::for_straggler(Ticks until, StragglerPolicy policy) const {
  const Ticks cap = policy == StragglerPolicy::kLeastAlone ? std::min(until, least_energy_) : until;
  // By what was asked for, which is in order; no plan takes longer, and none less energy than one
  // behind it.
  const auto after = std::partition_point(
      plans_.begin(), plans_.end(),
      [cap](const PlannedIteration& one) { return one.plan.requested <= cap; });
  return after == plans_.begin() ? plans_.front() : *(after - 1);
}

}  // namespace perjoule
