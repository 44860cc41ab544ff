// The course of one source over time in fixed memory: columns of time and accumulated energy.
//
// Energy is kept accumulated, not as power, so that thinning the samples when the columns are full
// loses resolution but never a joule. The first and the last sample always stay.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/units.h"

namespace perjoule {

class Timeline {
 public:
  /// Room for `capacity` samples (at least 4), allocated here and never again.
  explicit Timeline(std::size_t capacity);

  /// Adds a sample; when full, every other sample is dropped first. Never allocates. Amortised
  /// O(1).
  void add(Instant at, std::uint64_t total_micro) noexcept;
  /// Time passed without a sample that was due.
  void note_gap(std::uint32_t missed_ticks) noexcept { missed_ += missed_ticks; }
  void clear() noexcept;

  std::size_t size() const { return times_.size(); }
  std::size_t capacity() const { return capacity_; }
  Instant time(std::size_t i) const { return Instant{times_[i]}; }
  std::uint64_t total_micro(std::size_t i) const { return totals_[i]; }
  /// Mean power between sample i and i+1.
  Watts power(std::size_t i) const;
  /// Mean power in even steps of `dt` from the first sample on. O(size + steps).
  std::vector<float> even_power(Seconds dt) const;
  /// Each kept sample stands for 2^thinnings taken ones.
  int thinnings() const { return thinnings_; }
  std::uint64_t missed_ticks() const { return missed_; }
  std::size_t bytes() const { return capacity_ * (sizeof(std::int64_t) + sizeof(std::uint64_t)); }

 private:
  void thin() noexcept;

  std::size_t capacity_;
  std::vector<std::int64_t> times_;
  std::vector<std::uint64_t> totals_;
  int thinnings_ = 0;
  std::uint64_t skip_ = 0;  ///< samples to leave out until the next one that is kept
  bool last_is_provisional_ = false;
  std::uint64_t missed_ = 0;
};

}  // namespace perjoule
