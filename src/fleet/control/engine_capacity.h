// What an instance of a fleet can do, looked up quickly: its profile's curves by layout, clock and
// class.
//
//   PJ_TRY(const EngineCapacity capacity, EngineCapacity::make(profile, models, target));
//   capacity.highest_load(layout, clock, load_class);      // prompt tokens a second
//   capacity.frugal_clock(layout, load_class, 1800);
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "fleet/engine/step_model.h"
#include "fleet/profile/serving_profile.h"
#include "fleet/traffic/load_class.h"

namespace perjoule {

/// A pool's class: one of the nine, or all of them together.
inline constexpr std::size_t kMixedClass = kLoadClasses;
inline constexpr std::size_t kPoolClasses = kLoadClasses + 1;

class EngineCapacity {
 public:
  /// `layouts` are those of the engines, in the order in which they are meant below; a class takes
  /// the curves of its name, or those of no name. not_found, naming layout and class, where there
  /// are none, or not at the same clocks.
  static Result<EngineCapacity> make(const ServingProfile& profile,
                                     const std::vector<InstanceLayout>& layouts,
                                     double least_attainment);

  std::size_t layouts() const { return gpus_.size(); }
  int gpus(std::size_t layout) const { return gpus_[layout]; }
  std::size_t clocks() const { return clocks_mhz_.size(); }
  double clock_mhz(std::size_t clock) const { return clocks_mhz_[clock]; }

  /// The highest load up to which the target is met at every point of the curve; 0 where it is not
  /// at the first.
  double highest_load(std::size_t layout, std::size_t clock, std::size_t pool_class) const {
    return cell(layout, clock, pool_class).highest_load;
  }
  /// The load of the curve's last point.
  double last_load(std::size_t layout, std::size_t clock, std::size_t pool_class) const {
    return cell(layout, clock, pool_class).curve->points.back().load;
  }
  /// Power at a load; beyond the curve the last point's.
  Watts power(std::size_t layout, std::size_t clock, std::size_t pool_class, double load) const;
  /// The clock that meets the target at this load with least power; none where none does.
  std::optional<std::size_t> frugal_clock(std::size_t layout, std::size_t pool_class,
                                          double load) const;
  /// The curve's loads at which the target is met.
  std::vector<ServingPoint> points_met(std::size_t layout, std::size_t clock,
                                       std::size_t pool_class) const;

 private:
  struct Cell {
    const ProfileCurve* curve = nullptr;
    double highest_load = 0;
  };
  const Cell& cell(std::size_t layout, std::size_t clock, std::size_t pool_class) const {
    return cells_[(layout * clocks_mhz_.size() + clock) * kPoolClasses + pool_class];
  }

  std::shared_ptr<const ServingProfile> profile_;
  LatencyTarget target_;
  std::vector<int> gpus_;
  std::vector<double> clocks_mhz_;
  std::vector<Cell> cells_;
};

}  // namespace perjoule
