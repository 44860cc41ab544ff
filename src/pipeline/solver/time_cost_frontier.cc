#include "pipeline/solver/time_cost_frontier.h"

#include <algorithm>

namespace perjoule {

double TimeCostFrontier::cost_at(Ticks makespan) const {
  if (makespan >= longest()) return corners_.front().cost;
  if (makespan <= shortest()) return corners_.back().cost;
  // The corner at or below.
  const auto below = std::partition_point(
      corners_.begin(), corners_.end(),
      [makespan](const FrontierCorner& corner) { return corner.makespan > makespan; });
  const FrontierCorner& b = *below;
  const FrontierCorner& a = *(below - 1);
  const double share =
      static_cast<double>(a.makespan - makespan) / static_cast<double>(a.makespan - b.makespan);
  return a.cost + share * (b.cost - a.cost);
}

}  // namespace perjoule
