// The clock (and layout) at which one instance serves a load with the least power, among those that
// keep the latencies, against the highest clock that was profiled.
//
//   const ClockChoice choice = choose_clock(profile, 2400, target);
//   if (choice.chosen) set_clock(profile.curves[choice.chosen->curve].clock_mhz);
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "fleet/profile/serving_profile.h"

namespace perjoule {

/// The curves of these names; an empty name takes all. A class takes its own curves, or, where
/// there are none, those of any class. Notes are kept. O(curves).
ServingProfile select_curves(const ServingProfile& profile, std::string_view model,
                             std::string_view gpu, std::string_view load_class);

/// For each curve, whether its clock is the highest one profiled of its GPU.
std::vector<bool> at_highest_clock(const ServingProfile& profile);

/// A curve, and what an instance on it does at the load.
struct ClockPick {
  std::size_t curve = 0;
  Operating at = {};
};

struct ClockChoice {
  std::optional<ClockPick> chosen = {};     ///< none: nothing meets the target
  std::optional<ClockPick> reference = {};  ///< least power at the highest clock, late or not
  bool reference_meets = false;
  /// Where nothing meets the target: what comes nearest, and how many times the worse of its two
  /// latencies is what is allowed. None where no curve carries the load, or knows the statistic.
  std::optional<ClockPick> nearest = {};
  double nearest_times = 0;
  double highest_load = 0;  ///< that any curve carries

  /// Share of the reference's power; none without both.
  std::optional<double> saving() const;
};

/// `load` is prompt tokens a second of one instance, finite and not below 0. Of equal powers the
/// curve that stands first is taken. O(curves x log points).
ClockChoice choose_clock(const ServingProfile& profile, double load, const LatencyTarget& target);

}  // namespace perjoule
