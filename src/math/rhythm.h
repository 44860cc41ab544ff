// The period of an evenly sampled series that repeats itself, such as the power of a device that
// does one step after another.
//
// The series, its straight trend taken off and smoothed by (1 2 1)/4, is compared with itself
// shifted by k samples:
//
//   r(k) = sum x(i) x(i+k) / sqrt(sum x(i)^2 sum x(i+k)^2)      over i from 0 to n-k-1
//
// After r has first fallen below 0.2 it has peaks at the period and at its multiples. The period is
// the *shortest* peak that reaches 0.8 of the highest one: what is as good at half the lag is the
// period, and the rest are its multiples. (A period of five and a half samples lies between two of
// r: peaks are as high as a cubic through their neighbours, and the smoothing makes that hold.) The
// peaks at 2, 3, ... M periods are then looked up one after another, each placed between samples by
// a parabola, and a line through the origin gives
//
//   T = sum m k(m) / sum m^2,   s_T^2 = [sum (k(m) - m T)^2 / (M - 1)] / sum m^2 + (0.15 / M)^2
//
// in which 0.15 samples stands for what the parabola misses. O(n^2 / 2).
//
// A period below two samples cannot be told from a longer one (aliasing), and near that not well:
// hence least_period, and a rhythm whose strongest wave is faster than that is none. An alias
// cannot be seen in one series at all; who samples two speeds of the same work can
// (train/activity_steps.h).
#pragma once

#include <span>

#include "base/result.h"

namespace perjoule {

struct Rhythm {
  double period = 0;      ///< samples
  double sigma = 0;       ///< one standard error of it
  double regularity = 0;  ///< r at one period, at most 1
  double depth = 0;       ///< standard deviation of the series over its mean, trend taken off
};

/// What a rhythm must be like to be one.
struct RhythmDemands {
  double least_period = 4;   ///< samples
  double least_periods = 8;  ///< in the series
  double least_regularity = 0.5;
  double least_depth = 0.02;
  /// Where the period is expected: a peak in here is taken before a shorter one outside, if it is
  /// as high. Above is below: nothing is.
  double expected_above = 0;
  double expected_below = 0;
};

/// not_found when there is no rhythm, saying why; unavailable when the series is too short to tell.
Result<Rhythm> find_rhythm(std::span<const float> series, const RhythmDemands& demands = {});

}  // namespace perjoule
