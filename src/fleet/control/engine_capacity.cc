#include "fleet/control/engine_capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace perjoule {
namespace {

const ProfileCurve* find_curve(const ServingProfile& profile, const InstanceLayout& layout,
                               double clock, std::string_view name) {
  for (const ProfileCurve& curve : profile.curves) {
    if (curve.layout == layout && curve.clock_mhz == clock && curve.load_class == name)
      return &curve;
  }
  return nullptr;
}

/// Where the target is no longer met, between two points by halving.
double highest_met(const ProfileCurve& curve, const LatencyTarget& target) {
  double met = 0;
  for (const ServingPoint& point : curve.points) {
    if (meets(point, target)) {
      met = point.load;
      continue;
    }
    if (met == 0) return 0;
    double low = met;
    double high = point.load;
    for (int i = 0; i < 30; ++i) {
      const double middle = (low + high) / 2;
      (meets(at_load(curve, middle).point, target) ? low : high) = middle;
    }
    return low;
  }
  return met;
}

}  // namespace

Result<EngineCapacity> EngineCapacity::make(const ServingProfile& profile,
                                            const std::vector<InstanceLayout>& layouts,
                                            double least_attainment) {
  EngineCapacity capacity;
  capacity.profile_ = std::make_shared<const ServingProfile>(profile);
  capacity.target_.least_attainment = least_attainment;
  std::set<double> clocks;
  for (const ProfileCurve& curve : profile.curves)
    if (!layouts.empty() && curve.layout == layouts.front()) clocks.insert(curve.clock_mhz);
  capacity.clocks_mhz_.assign(clocks.begin(), clocks.end());
  for (const InstanceLayout& layout : layouts) {
    capacity.gpus_.push_back(layout.gpus());
    for (const double clock : capacity.clocks_mhz_) {
      for (std::size_t pool = 0; pool < kPoolClasses; ++pool) {
        const std::string_view name =
            pool == kMixedClass ? "" : name_of_class(static_cast<LoadClass>(pool));
        const ProfileCurve* curve = find_curve(*capacity.profile_, layout, clock, name);
        if (curve == nullptr) curve = find_curve(*capacity.profile_, layout, clock, "");
        if (curve == nullptr) {
          return Error::not_found(
              fmt::format("no curve of {} {} {} at {:g} MHz for class {}", layout.model, layout.gpu,
                          text_of(layout), clock, name.empty() ? "any" : name),
              "make one with perjoule fleet profile");
        }
        capacity.cells_.push_back({curve, highest_met(*curve, capacity.target_)});
      }
    }
  }
  if (capacity.cells_.empty())
    return Error::not_found("the profile has no curve of the engines' layouts");
  return capacity;
}

Watts EngineCapacity::power(std::size_t layout, std::size_t clock, std::size_t pool_class,
                            double load) const {
  const ProfileCurve& curve = *cell(layout, clock, pool_class).curve;
  const Operating there = at_load(curve, load);
  return there.reach == Reach::kBeyond ? curve.points.back().power : there.point.power;
}

std::optional<std::size_t> EngineCapacity::frugal_clock(std::size_t layout, std::size_t pool_class,
                                                        double load) const {
  std::optional<std::size_t> best;
  Watts least;
  for (std::size_t clock = 0; clock < clocks(); ++clock) {
    if (highest_load(layout, clock, pool_class) < load) continue;
    const Watts watts = power(layout, clock, pool_class, load);
    if (best && watts >= least) continue;
    best = clock;
    least = watts;
  }
  return best;
}

std::vector<ServingPoint> EngineCapacity::points_met(std::size_t layout, std::size_t clock,
                                                     std::size_t pool_class) const {
  const Cell& one = cell(layout, clock, pool_class);
  std::vector<ServingPoint> points;
  for (const ServingPoint& point : one.curve->points)
    if (point.load <= one.highest_load) points.push_back(point);
  return points;
}

}  // namespace perjoule
