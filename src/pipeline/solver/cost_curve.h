// What an activity costs over its duration: convex, falling, piecewise linear, in integers.
//
//   duration   d_0 < d_1 < ... < d_m     (ticks)
//   slope      w_1 > w_2 > ... > w_m > 0 (cost units a tick that the activity is made shorter,
//                                         between d_(k-1) and d_k)
//
// Shorter than d_0 is impossible, longer than d_m costs nothing and saves nothing. An activity of
// constant time has d_0 alone. Integers make the solver exact; how large a unit is, CurveSet picks
// so that no sum of slopes over all activities can overflow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "pipeline/solver/activity_network.h"

namespace perjoule {

/// A duration that an activity can have, and what it costs then (J, may be below zero).
struct CostPoint {
  Ticks duration = 0;
  double cost = 0;
};

/// The corners of the lower convex hull of `points`, from the shortest duration to the one of least
/// cost, shortest first. Of points of one duration the cheapest counts. O(n log n).
std::vector<CostPoint> falling_hull(std::vector<CostPoint> points);

/// Curves of many activities in two flat arrays.
class CurveSet {
 public:
  /// A curve through corners with rising durations and falling, convex costs (falling_hull's
  /// answer); `uses` activities have it. Returns its number.
  std::uint32_t add(std::span<const CostPoint> corners, std::uint64_t uses);
  /// Turns the costs into integer slopes. Fails with out_of_range when durations are so long that a
  /// sum of them, one an activity, could overflow.
  Outcome seal();

  std::size_t size() const { return first_.size() - 1; }
  /// d_0 to d_m.
  std::span<const Ticks> durations(std::uint32_t curve) const {
    return std::span(durations_).subspan(first_[curve], first_[curve + 1] - first_[curve]);
  }
  /// slopes(c)[k] is w_k; [0] stands for what cannot be made shorter.
  std::span<const std::int64_t> slopes(std::uint32_t curve) const {
    return std::span(slopes_).subspan(first_[curve], first_[curve + 1] - first_[curve]);
  }
  /// What may flow through an activity of that duration: between two corners the slope there, at a
  /// corner any of the two that meet. O(log corners).
  struct FlowBounds {
    std::int64_t lower = 0;
    std::int64_t upper = 0;
  };
  FlowBounds flow_bounds(std::uint32_t curve, Ticks duration) const;
  /// Joules of one cost unit.
  double unit() const { return unit_; }
  /// The cost at a duration, J: the measured cost at corners, linear between them.
  double cost(std::uint32_t curve, Ticks duration) const;

  /// Above every flow that can be: what an activity at d_0 can carry.
  static constexpr std::int64_t kUnlimited = std::int64_t{1} << 62;

 private:
  std::vector<std::uint32_t> first_{0};
  std::vector<Ticks> durations_;
  std::vector<double> costs_;
  std::vector<std::int64_t> slopes_;
  std::vector<std::uint64_t> uses_;
  double unit_ = 1;
};

}  // namespace perjoule
