// For tests: the ticks of an energy counter whose every joule is known.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "meter/counter_course.h"

namespace perjoule::test_counter {

constexpr double kTick = 0.1, kGap = 0.002;

/// A GPU that works for four fifths of a second and waits for the last one, over and over.
inline double drawn_until(double at) {
  const double rest = at - std::floor(at);
  return std::floor(at) * (0.8 * 300 + 0.2 * 70) + std::min(rest, 0.8) * 300 +
         std::max(0.0, rest - 0.8) * 70;
}

inline CounterTick tick_at(double at) {
  return {Seconds(at), Seconds(kGap), Joules(drawn_until(at))};
}

/// What its counter shows from one moment to another, at multiples of its tick.
inline std::vector<CounterTick> ticks(double from, double until) {
  std::vector<CounterTick> all;
  const auto first = static_cast<int>(std::ceil(from / kTick - 1e-9));
  for (int i = first; i * kTick < until - 1e-9; ++i) all.push_back(tick_at(i * kTick));
  return all;
}

inline SourceInfo counter() {
  SourceInfo info;
  info.id = "gpu:a/energy";
  info.device = "gpu:a";
  info.tick = Seconds(kTick);
  info.quantum = 0;
  info.status = Status::kSimulated;
  return info;
}

}  // namespace perjoule::test_counter
