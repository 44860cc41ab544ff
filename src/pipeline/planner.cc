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

/// Plans of many makespans, rounded one by one and then bettered where they are rough.
class Rounded {
 public:
  /// Rounds the schedules of the makespans asked for, and the others only where some of those are
  /// rough.
  Rounded(const PipelineProblem& problem, const TimeCostFrontier& frontier,
          const std::vector<Ticks>& asked);
  /// Betters those that are rough, at a cost in time that grows with how rough they are.
  void better();
  /// Those asked for, fastest first.
  std::vector<PipelinePlan> plans() const;

 private:
  struct Candidate {
    const Schedule* schedule;
    bool asked;
    PipelinePlan plan;
    bool mixed = false;
  };
  bool is_rough(const PipelinePlan& plan) const { return gap_of(problem_, plan) > rough_; }
  void round_those(bool asked);
  void refine(Candidate& one);
  void mix();
  void level();

  const PipelineProblem& problem_;
  const TimeCostFrontier& frontier_;
  const std::vector<Ticks>& asked_;
  double rough_;
  std::vector<Candidate> candidates_;  ///< fastest first
};

/// The gap above which a plan is bettered, and that it is bettered to. Long pipelines have more to
/// choose from, and a try is a smaller part of them.
constexpr std::uint32_t kShort = 256;
constexpr double kRough = 0.0018, kRoughLong = 0.003;
/// Windows that are tried for a plan, by how rough it is.
constexpr int kTriesARoughness = 1500, kMostTries = 3000, kMostTriesLong = 9000;

Rounded::Rounded(const PipelineProblem& problem, const TimeCostFrontier& frontier,
                 const std::vector<Ticks>& asked)
    : problem_(problem),
      frontier_(frontier),
      asked_(asked),
      rough_(problem.network().size() <= kShort ? kRough : kRoughLong) {
  round_those(true);
}

void Rounded::round_those(bool asked) {
  for (const Schedule& schedule : frontier_.schedules()) {
    const bool is_asked =
        std::find(asked_.begin(), asked_.end(), schedule.makespan) != asked_.end();
    if (is_asked != asked) continue;
    const double bound = frontier_.cost_at(schedule.makespan);
    candidates_.push_back({&schedule, asked, round_schedule(problem_, schedule, bound)});
  }
  std::stable_sort(
      candidates_.begin(), candidates_.end(),
      [](const Candidate& a, const Candidate& b) { return a.plan.requested < b.plan.requested; });
}

void Rounded::better() {
  if (std::any_of(candidates_.begin(), candidates_.end(),
                  [this](const Candidate& one) { return is_rough(one.plan); })) {
    round_those(false);
    for (Candidate& one : candidates_) {
      if (one.asked) refine(one);
    }
    mix();
    for (Candidate& one : candidates_) {
      if (one.mixed) refine(one);
    }
    mix();  // those that are refined may do better together
  }
  level();
}

void Rounded::refine(Candidate& one) {
  if (!is_rough(one.plan)) return;
  const double energy = problem_.total_energy(one.plan.bound, one.plan.requested).value();
  const double roughness = gap_of(problem_, one.plan) / rough_ - 1;
  const int most = problem_.network().size() <= kShort ? kMostTries : kMostTriesLong;
  one.plan = refine_plan(
      problem_, *one.schedule, one.plan,
      {.most_tries =
           std::min(most, 500 + static_cast<int>(kTriesARoughness * roughness * most / kMostTries)),
       .enough = rough_ * energy});
}

/// A slower plan that takes more than a faster one is no plan: the faster one waits.
void Rounded::level() {
  for (std::size_t i = 1; i < candidates_.size(); ++i) {
    const PipelinePlan& faster = candidates_[i - 1].plan;
    PipelinePlan& plan = candidates_[i].plan;
    if (plan.effective <= faster.effective) continue;
    plan.option = faster.option;
    plan.makespan = faster.makespan;
    plan.effective = faster.effective;
  }
}

/// The corners of the lower convex hull of plans over their makespans lose least; between two of
/// them a mixture of the two loses little more.
void Rounded::mix() {
  std::vector<CostPoint> points;
  for (const Candidate& one : candidates_)
    points.push_back({one.plan.makespan, one.plan.effective});
  const std::vector<CostPoint> hull = falling_hull(points);
  std::vector<const PipelinePlan*> corners;
  corners.reserve(hull.size());
  for (const CostPoint& corner : hull) {
    corners.push_back(
        &std::find_if(candidates_.begin(), candidates_.end(), [&](const Candidate& one) {
           return one.plan.makespan == corner.duration && one.plan.effective == corner.cost;
         })->plan);
  }
  std::vector<PipelinePlan> mixed;
  for (const Candidate& one : candidates_) {
    mixed.push_back(one.plan);
    PipelinePlan& plan = mixed.back();
    if (!one.asked || !is_rough(plan)) continue;
    const auto slow = std::partition_point(
        corners.begin(), corners.end(),
        [&](const PipelinePlan* corner) { return corner->makespan <= plan.requested; });
    if (slow == corners.begin()) continue;  // nothing is faster
    const PipelinePlan& fast = **(slow - 1);
    PipelinePlan better = slow == corners.end()
                              ? fast
                              : mix_plans(problem_, fast, **slow, plan.requested, plan.bound);
    if (better.effective >= plan.effective) continue;
    better.requested = plan.requested;
    better.bound = plan.bound;
    plan = std::move(better);
  }
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    candidates_[i].mixed = mixed[i].effective < candidates_[i].plan.effective;
    candidates_[i].plan = std::move(mixed[i]);
  }
}

std::vector<PipelinePlan> Rounded::plans() const {
  std::vector<PipelinePlan> plans;
  for (const Candidate& one : candidates_) {
    if (one.asked) plans.push_back(one.plan);
  }
  return plans;
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
  rounded.better();
  Ticks last = -1;
  for (const PipelinePlan& plan : rounded.plans()) {
    if (plan.requested == last) continue;
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
