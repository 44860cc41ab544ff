// What a look at an instance of a real fleet brought, as plain data: whoever asks it (a metrics
// page, a Prometheus server) fills this in.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace perjoule {

/// Requests whose first token took at most so long; counts are cumulative.
struct FirstTokenBucket {
  Seconds upper = {};
  double count = 0;
};

/// Counts are of the time since the instance's last reading, where both were had.
struct InstanceReading {
  bool is_reachable = false;
  std::string failure = {};  ///< in words, of one that is not
  /// A counter fell or its process is another: what it counted since then is not known.
  bool was_restarted = false;
  Seconds since_last = {};
  std::optional<double> prompt_tokens = {};  ///< computed
  double running = 0;                        ///< requests
  double waiting = 0;                        ///< requests
  std::optional<double> mean_prompt = {};    ///< tokens
  /// By rising bounds, the last infinite; empty where it is not known.
  std::vector<FirstTokenBucket> first_tokens = {};
};

/// How many of the requests had their first token within `most`: on the straight line within a
/// bucket, none of the infinite one's. O(buckets).
double first_tokens_within(const std::vector<FirstTokenBucket>& buckets, Seconds most);

}  // namespace perjoule
