// The result of a window: energy by source with its budget, and everything a reader must be told
// about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/energy.h"
#include "base/units.h"
#include "device/source.h"
#include "meter/uncertainty.h"

namespace perjoule {

/// Whether the work was over when the window was closed.
enum class SyncVerdict {
  kSynchronised,  ///< a synchronise call ran, or the process that did the work has ended
  kNotRequested,  ///< nobody asked; asynchronous work may lie outside the window
  kBusyAtEnd,     ///< work was still queued or the device busy at the closing read
};
std::string_view name_of(SyncVerdict verdict);  ///< "synchronised", "not_requested", "busy_at_end"

struct SourceMeasurement {
  SourceInfo info;
  Energy energy;
  UncertaintyBudget budget;
  bool tick_aligned = false;       ///< both ends were
  std::vector<std::string> notes;  ///< wraps, resets, lost device, frozen counter, ...
};

/// Whether a source counts in the sum over `all`, which holds it: what lies within another one is
/// left out where that other one is there too, and a meter of the whole machine where anything of
/// its inside is, so that `--sources node` is measured and nothing is counted twice.
bool adds_up(const SourceInfo& one, const std::vector<const SourceInfo*>& all);

struct Measurement {
  std::string name;
  std::int64_t begin_unix_ns = 0;
  Seconds duration;  ///< awake time: a suspended machine's sleep is not in it
  SyncVerdict sync = SyncVerdict::kNotRequested;
  std::vector<SourceMeasurement> sources;
  std::vector<std::string> notes;

  /// Whether the source counts in the total: one that lies within another is left out only where
  /// that other one was measured too.
  bool is_summed(const SourceMeasurement& source) const;
  /// Sum of the sources that overlap no other one measured here. Missing when any of them is
  /// missing.
  Energy total() const;
  /// Sum of one device's sources that overlap no other one measured here; missing when it has none.
  Energy of_device(std::string_view device) const;
  /// Mean power of the total.
  Watts mean_power() const;
};

}  // namespace perjoule
