// Windows over sources: what a program, a step or a request took.
//
//   Meter meter(machine.sources(), clock);
//   Window window = meter.begin("training", {.sync = find_device_sync()});
//   train();
//   Measurement used = window.end();
//   used.total();   // joules, +-, source, boundary, grade
//
// Windows nest and overlap freely; any number may be open, from any thread. A window costs one read
// of each of its sources at either end (and of a gauge beside each counter, for the boundary
// powers), and allocates two vectors. Counters that could wrap twice between two reads, and gauges,
// are kept up by the Sampler.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "meter/calibration.h"
#include "meter/channel.h"
#include "meter/measurement.h"
#include "meter/tick_watch.h"

namespace perjoule {

/// Returns when all work given to the devices has ended.
using SyncCallback = std::function<Outcome()>;

struct WindowOptions {
  SyncCallback sync = {};                 ///< runs before the closing read; its absence is recorded
  std::vector<std::string> sources = {};  ///< ids; empty for all
  /// Wait for counters to tick before the beginning and after the end (tick_watch.h): the edge is
  /// then known to the gap between two polls. Costs up to two of the slowest counter's ticks at
  /// either end, outside the window.
  bool tick_aligned = false;
  bool edge_powers = true;  ///< read gauges at both ends to narrow the edge
};

class Meter;

/// An open window. Dropping it without end() discards it.
class Window {
 public:
  Window(Window&&) noexcept = default;
  Window& operator=(Window&&) noexcept = default;

  /// Closes the window. Sources that failed meanwhile give lower bounds and notes, never an error.
  Measurement end();
  /// Closes it knowing that the work is over because its process has ended.
  Measurement end_after_exit();
  /// The state so far; the window stays open, and an aligned one waits for nothing. For live
  /// displays and budgets.
  Measurement so_far() { return close(SyncVerdict::kNotRequested, false); }

 private:
  friend class Meter;
  struct Begun {
    Channel* channel;
    Snapshot at;
    std::optional<AlignedEdge> aligned;
  };
  explicit Window(Meter& meter) : meter_(&meter) {}
  Measurement close(SyncVerdict verdict, bool may_wait = true);
  /// Waits for the ticks of the window's counters.
  std::vector<TickWatch> watch_ticks(TickSide side) const;

  Meter* meter_;
  std::string name_;
  WindowOptions options_;
  std::vector<Begun> begun_;
  Instant begin_;
  std::int64_t begin_unix_ns_ = 0;
  std::int64_t suspended_ns_ = 0;  ///< time slept since boot, at the beginning
};

class Meter {
 public:
  /// Watches the sources, which must outlive the meter. `timeline_bytes` is the memory for all
  /// timelines together; 0 keeps none.
  /// Sources that have a calibration are corrected by it.
  Meter(const std::vector<Source*>& sources, const Clock& clock, std::size_t timeline_bytes = 0,
        const std::vector<Calibration>& calibrations = {});

  /// Opens a window. not_found when an id in the options names no source.
  Result<Window> begin(std::string name, WindowOptions options = {});

  std::vector<std::unique_ptr<Channel>>& channels() { return channels_; }
  const Clock& clock() const { return clock_; }

  /// Tells the channels if the machine slept since the last call. Called before every batch of
  /// reads.
  void notice_suspend() noexcept;

 private:
  friend class Window;
  const Clock& clock_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::atomic<std::int64_t> suspended_ns_;  ///< boot time minus monotonic time at the last look
};

}  // namespace perjoule
