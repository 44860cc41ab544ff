#include "pipeline/solver/time_cost_frontier.h"

#include <algorithm>

namespace perjoule {

double TimeCostFrontier::cost_at(Ticks makespan) const {
  if (makespan >= longest()) return corners_.front().cost;
  makespan = std::max(makespan, shortest());
  if (makespan == corners_.back().makespan) return corners_.back().cost;
  // The corner at or below.
  const auto below = std::partition_point(
      corners_.begin(), corners_.end(),
      [makespan](const FrontierCorner& corner) { return corner.makespan > makespan; });
  if (!whole_) {
    const FrontierCorner& above = *(below - 1);  // the longest at least
    double least = above.cost + unit_ * static_cast<double>(above.flow) *
                                    static_cast<double>(above.makespan - makespan);
    if (below != corners_.end()) {
      least = std::max(least, below->cost - unit_ * static_cast<double>(below->flow) *
                                                static_cast<double>(makespan - below->makespan));
    }
    return least;
  }
  const FrontierCorner& b = *below;
  const FrontierCorner& a = *(below - 1);
  const double share =
      static_cast<double>(a.makespan - makespan) / static_cast<double>(a.makespan - b.makespan);
  return a.cost + share * (b.cost - a.cost);
}

}  // namespace perjoule
