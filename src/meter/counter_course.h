// What an energy counter showed over time, and what was drawn between two moments that lie anywhere
// between its ticks.
//
//   const CounterCourse course = CounterCourse::of(timeline, origin);
//   const auto begin = course.around(from - origin), end = course.around(until - origin);
//   if (begin && end) energy_between(info, *begin, from - origin, *end, until - origin);
//
// The ticks on either side of a moment say what was drawn until then, to the part of a tick's
// energy that the power's course within it can move. Moments are seconds since any origin.
#pragma once

#include <deque>
#include <optional>
#include <span>

#include "base/clock.h"
#include "base/energy.h"
#include "device/source.h"
#include "meter/timeline.h"

namespace perjoule {

/// A counter changed.
struct CounterTick {
  Seconds at;     ///< the middle of the gap
  Seconds gap;    ///< between the last look that saw the old value and the first that saw the new
  Joules energy;  ///< since any moment
};

class CounterCourse {
 public:
  /// The moments at which a timeline's total had changed. O(samples).
  static CounterCourse of(const Timeline& timeline, Instant origin);

  void add(std::span<const CounterTick> ticks);
  /// The ticks before and behind a moment; none while the counter has not ticked behind it.
  struct Around {
    CounterTick before;
    CounterTick after;
    Watts power() const { return (after.energy - before.energy) / (after.at - before.at); }
  };
  /// O(log ticks).
  std::optional<Around> around(Seconds moment) const;
  bool begins_before(Seconds moment) const {
    return !ticks_.empty() && ticks_.front().at <= moment;
  }
  /// Forgets what lies before the last tick at or before a moment.
  void forget_before(Seconds moment);

 private:
  std::deque<CounterTick> ticks_;
};

/// What was drawn from the one moment to the other, each with the ticks around it.
Energy energy_between(const SourceInfo& counter, const CounterCourse::Around& at_begin,
                      Seconds begin, const CounterCourse::Around& at_end, Seconds end);

}  // namespace perjoule
