// The one thread that keeps a meter's channels up to date.
//
// It wakes by timerfd at the fastest wanted period, reads each channel that is due and no faster
// than its source ticks, and allocates nothing after the start. Ticks it slept through are counted
// and show as gaps.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "meter/meter.h"

namespace perjoule {

enum class SamplePace {
  kOnceATick,  ///< no faster than a source ticks: enough for its course
  kSeesTicks,  ///< sources that overlap no other, four times a tick: when they ticked is known too
};

/// When each channel is due; separated from the thread so that a virtual clock can drive it.
class SampleSchedule {
 public:
  /// `every` is the wanted period; a channel's own is at least its tick. With `every` of 0 only
  /// what must be kept up is read: gauges at their tick, and counters before they could wrap twice.
  SampleSchedule(Meter& meter, Seconds every, SamplePace pace = SamplePace::kOnceATick);

  /// The shortest period of all channels; 0 when none needs sampling.
  Seconds period() const { return period_; }
  /// Reads what is due at `now`.
  void run(Instant now) noexcept;
  /// Tells the due channels of `ticks` sleeping periods.
  void note_missed(std::uint64_t ticks) noexcept;

 private:
  struct Entry {
    Channel* channel;
    std::int64_t period_ns;
    std::int64_t next_ns;
  };
  Meter& meter_;
  Seconds period_;
  std::vector<Entry> entries_;
};

class Sampler {
 public:
  /// Starts the thread. Nothing to sample is no error: the thread is then not started.
  static Result<std::unique_ptr<Sampler>> start(Meter& meter, Seconds every,
                                                SamplePace pace = SamplePace::kOnceATick);
  ~Sampler();
  void stop();
  std::uint64_t missed_ticks() const { return missed_.load(); }
  std::uint64_t ticks() const { return ticks_.load(); }

 private:
  Sampler(Meter& meter, Seconds every, SamplePace pace)
      : schedule_(meter, every, pace), clock_(meter.clock()) {}
  void loop() noexcept;

  SampleSchedule schedule_;
  const Clock& clock_;
  FileDescriptor timer_;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::uint64_t> missed_ = 0;
  std::atomic<std::uint64_t> ticks_ = 0;
  std::thread thread_;
};

}  // namespace perjoule
