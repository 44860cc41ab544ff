#include <algorithm>
#include <numeric>

#include "pipeline/plan/assignment.h"
#include "pipeline/plan/plan.h"

namespace perjoule {

PipelinePlan mix_plans(const PipelineProblem& problem, const PipelinePlan& fast,
                       const PipelinePlan& slow, Ticks makespan, double bound) {
  Assignment best(problem, makespan);
  best.take(fast.option);
  best.settle_starts();
  best.settle_ends();
  // By time and not by microbatch: what runs at one time on all stages keeps one pace, and nobody
  // waits where the pace changes.
  std::vector<std::uint32_t> by_start(best.size());
  std::iota(by_start.begin(), by_start.end(), 0U);
  std::stable_sort(by_start.begin(), by_start.end(),
                   [&](std::uint32_t x, std::uint32_t y) { return best.start(x) < best.start(y); });
  for (const bool slow_first : {true, false}) {
    Assignment mixed(problem, makespan);
    const auto mix = [&](std::size_t slow_ones) {
      for (std::size_t i = 0; i < by_start.size(); ++i) {
        const std::uint32_t a = by_start[slow_first ? i : by_start.size() - 1 - i];
        mixed.take(a, i < slow_ones ? slow.option[a] : fast.option[a]);
      }
      return mixed.settle_starts() <= makespan;
    };
    std::size_t most = 0;
    std::size_t too_many = by_start.size() + 1;
    while (most + 1 < too_many) {
      const std::size_t middle = (most + too_many) / 2;
      (mix(middle) ? most : too_many) = middle;
    }
    mix(most);
    mixed.settle_ends();
    give_back(mixed);
    if (mixed.total() < best.total()) best = std::move(mixed);
  }
  return plan_of(best, bound);
}

}  // namespace perjoule
