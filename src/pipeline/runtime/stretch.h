// What iterations of one kind took: a stretch is a run of iterations under the same orders.
//
// A rank's energy over the stretch lies between two moments, the first begin and the last end, and
// its counter ticks somewhere around them (meter/counter_course.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/energy.h"
#include "meter/counter_course.h"
#include "pipeline/runtime/rank_report.h"

namespace perjoule {

/// One rank's part of a stretch.
class RankStretch {
 public:
  /// An iteration was reported; its ticks are in the course already.
  void add(const IterationReport& report, const CounterCourse& course);
  /// The counter has ticked since: the last end may be known now.
  void look_again(const CounterCourse& course);

  std::int64_t iterations() const { return iterations_; }
  Seconds mean_time() const { return time_ / static_cast<double>(iterations_); }
  /// Of the last iterations: one that was held up does not count.
  Seconds median_time() const;
  /// Of the iterations whose ends the counter told: an iteration's energy. Missing where it told
  /// none.
  Energy mean_energy(const SourceInfo& counter) const;
  /// The earliest moment that is not yet told.
  std::optional<Seconds> waits_for() const;

 private:
  std::int64_t iterations_ = 0;
  Seconds time_;
  std::vector<double> last_times_;  ///< a ring
  std::optional<Seconds> begin_;    ///< of the first iteration whose energy counts
  Seconds end_;                     ///< of the last one
  std::int64_t counted_ = 0;        ///< those
  std::optional<CounterCourse::Around> at_begin_;
  std::optional<CounterCourse::Around> at_end_;
  Seconds told_end_;       ///< the end that at_end_ is of
  std::int64_t told_ = 0;  ///< and the iterations until then
};

}  // namespace perjoule
