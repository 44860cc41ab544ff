// How long a program takes from start to end, as its user waits for it.
#pragma once

#include <string>
#include <vector>

namespace perjoule::bench {

/// Seconds of one start, from posix_spawn to wait4; output goes to /dev/null.
struct Start {
  double wall = 0;
  double user = 0;
  double system = 0;
};

/// The median of each time over `starts` starts, in the least disturbed of `rounds` rounds: others
/// use this machine too. Ends the benchmark when the program cannot be run.
Start best_median(const std::vector<std::string>& words, int starts, int rounds);

}  // namespace perjoule::bench
