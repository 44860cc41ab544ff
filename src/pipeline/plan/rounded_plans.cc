#include "pipeline/plan/rounded_plans.h"

#include <algorithm>

#include "base/parallel.h"

namespace perjoule {
namespace {

/// The gap above which a plan is bettered, and that it is bettered to. Long pipelines have more to
/// choose from, and a try is a smaller part of them.
constexpr std::uint32_t kShort = 256;
constexpr double kRough = 0.0018, kRoughLong = 0.003;
/// A short pipeline's plan that is rougher than this even so, as coarse clocks make it, is worth a
/// longer look: a training runs for weeks.
constexpr double kStillRough = 0.002;
constexpr int kTriesOfALongLook = 60'000;
/// Windows that are tried for a plan, by how rough it is.
constexpr int kLeastTries = 500, kTriesARoughness = 1500, kMostTries = 3000, kMostTriesLong = 9000;

double rough_gap(const PipelineProblem& problem) {
  return problem.network().size() <= kShort ? kRough : kRoughLong;
}

}  // namespace

double gap_of(const PipelineProblem& problem, const PipelinePlan& plan) {
  return (plan.effective - plan.bound) / problem.total_energy(plan.bound, plan.requested).value();
}

PipelinePlan refine_if_rough(const PipelineProblem& problem, const Schedule& schedule,
                             PipelinePlan plan) {
  const double rough = rough_gap(problem);
  const double gap = gap_of(problem, plan);
  if (gap <= rough) return plan;
  const double energy = problem.total_energy(plan.bound, plan.requested).value();
  const int most = problem.network().size() <= kShort ? kMostTries : kMostTriesLong;
  const double tries = kLeastTries + kTriesARoughness * (gap / rough - 1) * most / kMostTries;
  plan = refine_plan(
      problem, schedule, plan,
      {.most_tries = static_cast<int>(std::min<double>(most, tries)), .enough = rough * energy});
  // What it finds are exchanges of single instructions, which changes of setting would eat up.
  if (problem.switching().any() || problem.network().size() > kShort ||
      gap_of(problem, plan) <= kStillRough) {
    return plan;
  }
  return refine_plan(
      problem, schedule, plan,
      {.most_tries = kTriesOfALongLook, .enough = kStillRough * energy, .tried = most});
}

bool RoundedPlans::is_rough(const PipelinePlan& plan) const {
  return gap_of(problem_, plan) > rough_gap(problem_);
}

RoundedPlans::RoundedPlans(const PipelineProblem& problem, const TimeCostFrontier& frontier,
                           const std::vector<Ticks>& asked)
    : problem_(problem), frontier_(frontier), asked_(asked) {
  round_those(true);
}

void RoundedPlans::round_those(bool asked) {
  const std::size_t first = candidates_.size();
  for (const Schedule& schedule : frontier_.schedules()) {
    const bool is_asked =
        std::find(asked_.begin(), asked_.end(), schedule.makespan) != asked_.end();
    if (is_asked == asked) candidates_.push_back({&schedule, asked, {}});
  }
  in_parallel(candidates_.size() - first, [&](std::size_t i) {
    Candidate& one = candidates_[first + i];
    const double bound = frontier_.cost_at(one.schedule->makespan);
    one.plan = round_schedule(problem_, *one.schedule, bound);
  });
  std::stable_sort(
      candidates_.begin(), candidates_.end(),
      [](const Candidate& a, const Candidate& b) { return a.plan.requested < b.plan.requested; });
}

void RoundedPlans::better() {
  if (std::any_of(candidates_.begin(), candidates_.end(),
                  [this](const Candidate& one) { return is_rough(one.plan); })) {
    round_those(false);
    refine([](const Candidate& one) { return one.asked; });
    mix();
    refine([](const Candidate& one) { return one.mixed; });
    mix();  // those that are refined may do better together
  }
  level();
}

void RoundedPlans::refine(bool (*which)(const Candidate&)) {
  in_parallel(candidates_.size(), [&](std::size_t i) {
    Candidate& one = candidates_[i];
    if (which(one)) one.plan = refine_if_rough(problem_, *one.schedule, std::move(one.plan));
  });
}

/// A slower plan that takes more than a faster one is no plan: the faster one waits.
void RoundedPlans::level() {
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
void RoundedPlans::mix() {
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

std::vector<PipelinePlan> RoundedPlans::plans() const {
  std::vector<PipelinePlan> plans;
  for (const Candidate& one : candidates_) {
    if (one.asked) plans.push_back(one.plan);
  }
  return plans;
}

}  // namespace perjoule
