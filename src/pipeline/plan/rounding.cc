#include <algorithm>
#include <optional>
#include <queue>

#include "pipeline/plan/assignment.h"
#include "pipeline/plan/plan.h"

namespace perjoule {
namespace {

constexpr double kNothing = 1e-9;  ///< J; below it a saving is rounding

/// One way to round: from which end, and how much of its price a tick is reckoned at.
struct Way {
  bool backward = false;
  double share = 0;
};

/// The option of at most `room` with the least effective energy and price of its ticks; of equal
/// ones the slower.
std::uint32_t best_option(const std::vector<PipelineOption>& options, Ticks room, double price) {
  const std::uint32_t most = most_frugal(options, room);
  std::uint32_t best = most;
  double least = options[most].effective + price * static_cast<double>(options[most].duration);
  for (std::uint32_t i = most; i-- > 0;) {
    const double cost =
        options[i].effective + price * static_cast<double>(options[i].duration) + kNothing;
    if (cost >= least) continue;
    least = cost;
    best = i;
  }
  return best;
}

/// In order, or against it, each activity takes the option that is best between its neighbour and
/// its time in the exact schedule; what one leaves over, the next one has.
Assignment dithered(const PipelineProblem& problem, const Schedule& schedule, const Way& way) {
  Assignment assigned(problem, schedule.makespan);
  const auto order = problem.order();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint32_t a = order[way.backward ? order.size() - 1 - i : i];
    const Ticks room = way.backward ? assigned.settle_end(a) - schedule.start[a]
                                    : schedule.end[a] - assigned.settle_start(a);
    assigned.take(a, best_option(assigned.options(a), room, way.share * schedule.price[a]));
  }
  return assigned;
}

}  // namespace

void give_back(Assignment& assigned, std::span<const double> price, double share) {
  struct Offer {
    double saving;
    std::uint32_t activity;
    std::uint32_t option;
    bool operator<(const Offer& other) const { return saving < other.saving; }
  };
  std::priority_queue<Offer> offers;
  const auto best_offer = [&](std::uint32_t a) {
    Offer best{kNothing, a, 0};
    const Ticks slack = assigned.slack(a);
    if (slack <= 0) return best;
    const auto& options = assigned.options(a);
    const Ticks now = assigned.duration(a);
    const std::uint32_t most = most_frugal(options, now + slack);
    for (std::uint32_t i = most; i > assigned.option(a); --i) {
      const double saving =
          assigned.effective(a) - options[i].effective -
          (share == 0 ? 0 : share * price[a] * static_cast<double>(options[i].duration - now));
      if (saving > best.saving) best = {saving, a, i};
      if (share == 0) break;  // the slowest is the most frugal
    }
    return best;
  };
  const auto offer = [&](const Offer& one) {
    if (one.option != 0) offers.push(one);
  };
  for (std::uint32_t a = 0; a < assigned.size(); ++a) offer(best_offer(a));
  while (!offers.empty()) {
    const Offer then = offers.top();
    offers.pop();
    const Offer now = best_offer(then.activity);
    if (now.option != 0 && now.saving >= then.saving - kNothing) {
      assigned.set(now.activity, now.option);
      offer(best_offer(now.activity));
    } else {
      offer(now);
    }
  }
}

std::vector<std::uint32_t> measured_options(const PipelineProblem& problem,
                                            const PipelinePlan& plan) {
  std::vector<std::uint32_t> option(plan.option.size());
  for (std::uint32_t a = 0; a < option.size(); ++a) {
    option[a] = problem.options(problem.class_of()[a])[plan.option[a]].index;
  }
  return option;
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

PipelinePlan round_schedule(const PipelineProblem& problem, const Schedule& schedule,
                            double bound) {
  // A price somewhat below the flow's keeps the lead for whoever has a use for it and still takes
  // what stands between the two options that cost the same; which end does better differs.
  static constexpr Way kWays[] = {{false, 0.9}, {true, 0.8}};
  std::optional<PipelinePlan> best;
  for (const Way& way : kWays) {
    Assignment assigned = dithered(problem, schedule, way);
    assigned.settle_starts();
    assigned.settle_ends();
    give_back(assigned, schedule.price, way.share);
    give_back(assigned);
    PipelinePlan plan = plan_of(assigned, bound);
    if (!best || plan.effective < best->effective) best = std::move(plan);
  }
  return *best;
}

}  // namespace perjoule
