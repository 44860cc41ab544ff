// What a simulated fleet used, and how it served.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/energy.h"
#include "base/units.h"
#include "fleet/engine/live_request.h"
#include "fleet/traffic/load_class.h"
#include "math/log_histogram.h"

namespace perjoule {

/// The requests of a class, by what they turned out to be.
struct ClassTally {
  std::uint64_t arrived = 0;
  std::uint64_t done = 0;
  std::uint64_t squashed = 0;
  std::uint64_t failed = 0;
  std::uint64_t first_in_time = 0;  ///< done, with the first token in time
  std::uint64_t gaps_in_time = 0;   ///< done, with the mean gap between tokens in time
  std::uint64_t in_time = 0;        ///< both
  std::uint64_t output_tokens = 0;
  std::uint64_t good_tokens = 0;  ///< of those in time
  LogHistogram ttft;              ///< s
  LogHistogram tbt;               ///< s, all gaps between tokens
  LogHistogram latency;           ///< s, from arrival to the last token

  void add(const ClassTally& other);
  /// Of all that arrived; 1 where there are none.
  double attainment() const;
};

/// A stretch of the simulation.
struct FleetBin {
  Seconds start = {};
  Seconds duration = {};
  Joules energy = {};
  double servers = 0;      ///< that were on, mean
  double prompt_rate = 0;  ///< prompt tokens a second that came
  std::int64_t live = 0;   ///< requests at its end
};

struct FleetReport {
  std::string policy = {};
  Seconds duration = {};  ///< to the end of the minute in which the last request ended
  Joules busy = {};
  Joules idle = {};
  Joules transition = {};  ///< of servers that start, or change their shards
  double mean_servers = 0;
  int peak_servers = 0;
  int gpus_per_server = 0;
  std::array<ClassTally, kLoadClasses> classes = {};
  std::vector<FleetBin> bins = {};

  std::uint64_t out_of_order = 0;
  std::uint64_t spilled = 0;  ///< sent to a larger pool, as planned or because its own had none
  std::uint64_t mispredicted = 0;  ///< in their output class
  std::uint64_t moved = 0;         ///< requests that outlived their class and went elsewhere
  std::uint64_t steered = 0;       ///< out of a queue that was late
  std::int64_t preemptions = 0;
  std::int64_t steps = 0;
  std::uint64_t server_starts = 0;
  std::uint64_t reshards = 0;
  std::uint64_t clock_changes = 0;
  std::uint64_t most_live = 0;  ///< requests at the same time
  Status status = Status::kSimulated;
  std::string origin = {};  ///< of the engines' figures

  Joules energy() const { return busy + idle + transition; }
  ClassTally all() const;
  /// Which share of the time at most that power was drawn; NaN without bins.
  Watts power_percentile(double percent) const;
};

}  // namespace perjoule
