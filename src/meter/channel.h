// One source being watched: reads it, follows its counter or integrates its gauge, keeps its
// timeline, and gives the snapshots that a window subtracts. Readers on several threads are served
// one after another, so that values enter in the order they were read.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "device/source.h"
#include "meter/counter.h"
#include "meter/timeline.h"

namespace perjoule {

/// A channel's state at one moment; a window keeps one for its beginning and takes one for its end.
struct Snapshot {
  Instant read_at;                  ///< when the value was read (the middle of the call)
  std::uint64_t total_micro = 0;    ///< microjoules since the channel was opened
  ErrorCode code = ErrorCode::kOk;  ///< why the last read failed
  Instant last_good;                ///< when the last good value was read
  Instant last_change;              ///< when a counter last moved
  CounterTrack::Faults faults;
  std::optional<Watts> power;  ///< from the gauge beside the counter, or the gauge itself
  // Accumulated over all samples of a gauge, for the spread within a window:
  std::int64_t samples = 0;
  double power_sum = 0;
  double power_square_sum = 0;
  Seconds gap;  ///< time without samples, accumulated
};

class Channel {
 public:
  /// `gauge` is a power gauge of the same device that tells the boundary powers of a counter; may
  /// be null.
  /// `info` is the source's own, or a calibrated one.
  Channel(Source& source, SourceInfo info, Source* gauge, const Clock& clock,
          std::size_t timeline_capacity);

  const SourceInfo& info() const noexcept { return info_; }
  /// Reads once and answers the state after it.
  Snapshot read(bool with_power) noexcept;
  /// Reads once for the timeline.
  void sample() noexcept;
  /// Ticks that the sampler slept through.
  void note_missed(std::uint32_t ticks) noexcept;
  /// The machine was suspended since the last reading: what the counter did meanwhile does not
  /// count.
  void rebase() noexcept;
  /// 0 to 1, or negative when the source cannot tell.
  double busy() noexcept { return source_.busy(); }
  const Source& source() const noexcept { return source_; }

  /// Of the counter: see CounterTrack::thaw_from.
  std::optional<CounterTrack::Thaw> thaw_from(Instant from) const noexcept;

  /// A copy for readers that are not the sampler. Null when no timeline is kept.
  std::unique_ptr<Timeline> timeline() const;
  /// Forgets the course so far; totals stay.
  void restart_timeline() noexcept;
  std::size_t timeline_bytes() const { return timeline_ ? timeline_->bytes() : 0; }

 private:
  void take(Reading reading, Instant at) noexcept;
  void take_gauge(std::uint64_t microwatts, Instant at) noexcept;
  Snapshot snapshot(ErrorCode code, Instant at) const noexcept;
  /// The total with the calibration applied, at the time of the last good value.
  std::uint64_t corrected_total() const noexcept;
  Watts corrected(std::uint64_t microwatts) const noexcept;

  Source& source_;
  SourceInfo info_;
  Source* gauge_;
  const Clock& clock_;
  mutable std::mutex mutex_;  ///< guards everything below, and the order of reads
  CounterTrack counter_;
  std::uint64_t integral_micro_ = 0;
  std::optional<std::uint64_t> last_microwatts_;
  Instant last_gauge_at_;
  Instant last_good_;
  std::optional<Instant> first_good_;
  std::int64_t samples_ = 0;
  double power_sum_ = 0;
  double power_square_sum_ = 0;
  Seconds gap_;
  std::unique_ptr<Timeline> timeline_;
};

}  // namespace perjoule
