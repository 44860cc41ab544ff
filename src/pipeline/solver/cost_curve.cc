#include "pipeline/solver/cost_curve.h"

#include <algorithm>
#include <cmath>

namespace perjoule {

std::vector<CostPoint> falling_hull(std::vector<CostPoint> points) {
  std::sort(points.begin(), points.end(), [](const CostPoint& a, const CostPoint& b) {
    return a.duration != b.duration ? a.duration < b.duration : a.cost < b.cost;
  });
  std::vector<CostPoint> hull;
  for (const CostPoint& point : points) {
    if (!hull.empty() && point.cost >= hull.back().cost) continue;  // no cheaper for being slower
    while (hull.size() >= 2) {
      const CostPoint& a = hull[hull.size() - 2];
      const CostPoint& b = hull.back();
      const double down_to_b = (b.cost - a.cost) * static_cast<double>(point.duration - a.duration);
      const double down_to_point =
          (point.cost - a.cost) * static_cast<double>(b.duration - a.duration);
      if (down_to_b < down_to_point) break;  // b lies below the line from a to the point
      hull.pop_back();
    }
    hull.push_back(point);
  }
  return hull;
}

std::uint32_t CurveSet::add(std::span<const CostPoint> corners, std::uint64_t uses) {
  for (const CostPoint& corner : corners) {
    durations_.push_back(corner.duration);
    costs_.push_back(corner.cost);
  }
  first_.push_back(static_cast<std::uint32_t>(durations_.size()));
  uses_.push_back(uses);
  return static_cast<std::uint32_t>(uses_.size() - 1);
}

Outcome CurveSet::seal() {
  double steepest_sum = 0;
  double longest_sum = 0;
  for (std::uint32_t c = 0; c < size(); ++c) {
    const std::uint32_t begin = first_[c];
    const auto uses = static_cast<double>(uses_[c]);
    longest_sum += uses * static_cast<double>(durations_[first_[c + 1] - 1]);
    if (first_[c + 1] - begin < 2) continue;
    const double steepest = (costs_[begin] - costs_[begin + 1]) /
                            static_cast<double>(durations_[begin + 1] - durations_[begin]);
    steepest_sum += uses * steepest;
  }
  if (longest_sum > 0x1p61) {
    return Error::out_of_range("durations add up to more ticks than 64 bits hold",
                               "take a coarser tick");
  }
  // No cut can carry more than all activities together; two bits are left for sums of two flows.
  unit_ = steepest_sum > 0 ? std::exp2(std::ceil(std::log2(steepest_sum)) - 60) : 1;
  slopes_.assign(durations_.size(), kUnlimited);
  std::vector<Ticks> durations;
  std::vector<double> costs;
  std::vector<std::int64_t> slopes;
  std::vector<std::uint32_t> first{0};
  for (std::uint32_t c = 0; c < size(); ++c) {
    durations.push_back(durations_[first_[c]]);
    costs.push_back(costs_[first_[c]]);
    slopes.push_back(kUnlimited);
    for (std::uint32_t i = first_[c] + 1; i < first_[c + 1]; ++i) {
      const double slope =
          (costs_[i - 1] - costs_[i]) / static_cast<double>(durations_[i] - durations_[i - 1]);
      const std::int64_t units = std::llround(slope / unit_);
      // Slopes that round to one another, or to nothing, are one segment.
      if (units <= 0) break;
      if (units >= slopes.back()) {
        durations.back() = durations_[i];
        costs.back() = costs_[i];
        continue;
      }
      durations.push_back(durations_[i]);
      costs.push_back(costs_[i]);
      slopes.push_back(units);
    }
    first.push_back(static_cast<std::uint32_t>(durations.size()));
  }
  first_ = std::move(first);
  durations_ = std::move(durations);
  costs_ = std::move(costs);
  slopes_ = std::move(slopes);
  return {};
}

CurveSet::FlowBounds CurveSet::flow_bounds(std::uint32_t curve, Ticks duration) const {
  const auto at = durations(curve);
  const auto corner = std::lower_bound(at.begin(), at.end(), duration);
  if (corner == at.end()) return {};
  const auto k = static_cast<std::size_t>(corner - at.begin());
  const auto slope = slopes(curve);
  if (*corner != duration) return {slope[k], slope[k]};
  return {k + 1 < slope.size() ? slope[k + 1] : 0, slope[k]};
}

double CurveSet::cost(std::uint32_t curve, Ticks duration) const {
  const auto at = durations(curve);
  const double* cost = costs_.data() + first_[curve];
  if (duration >= at.back()) return cost[at.size() - 1];
  const auto upper = std::upper_bound(at.begin(), at.end(), duration);
  if (upper == at.begin()) return cost[0];
  const auto k = static_cast<std::size_t>(upper - at.begin());
  const double share =
      static_cast<double>(duration - at[k - 1]) / static_cast<double>(at[k] - at[k - 1]);
  return cost[k - 1] + share * (cost[k] - cost[k - 1]);
}

}  // namespace perjoule
