// What lies between the points of a frontier, where that means something: one numeric setting (a
// power limit, a clock) moves the point, everything else stays.
//
//   PJ_TRY(const Point between, interpolate(frontier, "power limit", 187.5));
//   PJ_TRY(const Point quick_enough, interpolate_at_time(frontier, "power limit", 0.05_s));
//
// Time and energy are piecewise linear in the setting, so between two neighbours they stay between
// the neighbours' values. Nothing is extrapolated. The answer's energy is an estimate (status
// estimated) with the neighbours' uncertainty carried through; the bend between two points, which
// linear interpolation misses, is not in it.
#pragma once

#include <string_view>

#include "frontier/frontier.h"

namespace perjoule {

/// The point at `value` of the setting, in the unit the settings are written in. Fails with
/// not_supported when the setting is not numeric with one unit along the frontier, when another
/// setting changes with it, or when time does not move one way with the setting; with out_of_range
/// when `value` lies outside the frontier. O(n log n).
Result<Point> interpolate(const Frontier& frontier, std::string_view setting, double value);

/// The point that takes exactly `time`: the least energy a deadline between two points allows.
/// Fails as above.
Result<Point> interpolate_at_time(const Frontier& frontier, std::string_view setting, Seconds time);

}  // namespace perjoule
