#include <algorithm>
#include <queue>

#include "pipeline/assignment.h"
#include "pipeline/plan.h"

namespace perjoule {
namespace {

constexpr double kNothing = 1e-9;  ///< J; below it a saving is rounding

/// In order, each activity takes the most frugal option that ends by its time in the exact
/// schedule; what one leaves over, the next one has.
Assignment dithered(const PipelineProblem& problem, const Schedule& schedule) {
  Assignment assigned(problem, schedule.makespan);
  for (const std::uint32_t a : problem.order()) {
    const Ticks start = assigned.settle_start(a);
    assigned.take(a, most_frugal(assigned.options(a), schedule.end[a] - start));
  }
  return assigned;
}

/// Gives slack to whoever saves most by it, until nobody can use what is left.
void give_back(Assignment& assigned) {
  assigned.settle_starts();
  assigned.settle_ends();
  struct Offer {
    double saving;
    std::uint32_t activity;
    bool operator<(const Offer& other) const { return saving < other.saving; }
  };
  std::priority_queue<Offer> offers;
  const auto offer = [&](std::uint32_t a) {
    const Ticks slack = assigned.slack(a);
    if (slack <= 0) return;
    const std::uint32_t slower = most_frugal(assigned.options(a), assigned.duration(a) + slack);
    if (slower <= assigned.option(a)) return;
    offers.push({assigned.effective(a) - assigned.options(a)[slower].effective, a});
  };
  for (std::uint32_t a = 0; a < assigned.size(); ++a) offer(a);
  while (!offers.empty()) {
    const Offer best = offers.top();
    offers.pop();
    const std::uint32_t slower =
        most_frugal(assigned.options(best.activity),
                    assigned.duration(best.activity) + assigned.slack(best.activity));
    if (slower <= assigned.option(best.activity)) continue;
    const double saving =
        assigned.effective(best.activity) - assigned.options(best.activity)[slower].effective;
    if (saving < best.saving) {
      offers.push({saving, best.activity});
      continue;
    }
    assigned.set(best.activity, slower);
  }
}

/// The same where few have any slack: without a heap.
void give_back_little(Assignment& assigned) {
  for (;;) {
    double most = kNothing;
    std::uint32_t activity = 0;
    std::uint32_t option = 0;
    for (std::uint32_t a = 0; a < assigned.size(); ++a) {
      const Ticks slack = assigned.slack(a);
      if (slack <= 0) continue;
      const std::uint32_t slower = most_frugal(assigned.options(a), assigned.duration(a) + slack);
      if (slower <= assigned.option(a)) continue;
      const double saving = assigned.effective(a) - assigned.options(a)[slower].effective;
      if (saving <= most) continue;
      most = saving;
      activity = a;
      option = slower;
    }
    if (option == 0) return;
    assigned.set(activity, option);
  }
}

PipelinePlan plan_of(const Assignment& assigned, double bound) {
  PipelinePlan plan;
  plan.requested = assigned.most();
  plan.bound = bound;
  plan.effective = assigned.total();
  plan.option.assign(assigned.all().begin(), assigned.all().end());
  for (std::uint32_t a = 0; a < assigned.size(); ++a) {
    plan.makespan = std::max(plan.makespan, assigned.start(a) + assigned.duration(a));
  }
  return plan;
}

}  // namespace

std::vector<std::uint32_t> measured_options(const PipelineProblem& problem,
                                            const PipelinePlan& plan) {
  std::vector<std::uint32_t> option(plan.option.size());
  for (std::uint32_t a = 0; a < option.size(); ++a) {
    option[a] = problem.options(problem.class_of()[a])[plan.option[a]].index;
  }
  return option;
}

PipelinePlan round_schedule(const PipelineProblem& problem, const Schedule& schedule,
                            double bound) {
  Assignment assigned = dithered(problem, schedule);
  give_back(assigned);
  return plan_of(assigned, bound);
}

PipelinePlan mix_plans(const PipelineProblem& problem, const PipelinePlan& fast,
                       const PipelinePlan& slow, Ticks makespan, double bound) {
  const PipelineSchedule& schedule = problem.schedule();
  const int microbatches = schedule.shape.microbatches;
  Assignment best(problem, makespan);
  best.take(fast.option);
  for (const bool slow_first : {true, false}) {
    Assignment mixed(problem, makespan);
    const auto mix = [&](int slow_ones) {
      for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
        for (std::size_t i = 0; i < schedule.stages[stage].size(); ++i) {
          const std::uint32_t a = schedule.number(stage, i);
          const int at = schedule.stages[stage][i].microbatch;
          const bool is_slow = slow_first ? at < slow_ones : at >= microbatches - slow_ones;
          mixed.take(a, is_slow ? slow.option[a] : fast.option[a]);
        }
      }
      return mixed.settle_starts() <= makespan;
    };
    int most = 0;
    int too_many = microbatches + 1;
    while (most + 1 < too_many) {
      const int middle = (most + too_many) / 2;
      (mix(middle) ? most : too_many) = middle;
    }
    mix(most);
    give_back(mixed);
    if (mixed.total() < best.total()) best = std::move(mixed);
  }
  best.settle_starts();
  return plan_of(best, bound);
}

PipelinePlan polish_plan(const PipelineProblem& problem, const PipelinePlan& plan) {
  constexpr std::uint32_t kFaster = 3;  ///< options up that are tried
  Assignment assigned(problem, plan.requested);
  assigned.take(plan.option);
  assigned.settle_starts();
  assigned.settle_ends();
  double total = assigned.total();
  for (std::uint32_t a = 0; a < assigned.size(); ++a) {
    for (std::uint32_t step = 1; step <= kFaster && step <= assigned.option(a); ++step) {
      Assignment trial = assigned;
      trial.set(a, assigned.option(a) - step);
      give_back_little(trial);
      const double cost = trial.total();
      if (cost >= total - kNothing) continue;
      total = cost;
      assigned = std::move(trial);
      break;
    }
  }
  return plan_of(assigned, plan.bound);
}

}  // namespace perjoule
