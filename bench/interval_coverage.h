// Does the stated interval cover the truth? Random windows on simulated devices under a load that
// drifts and jumps, with the sensor's gain and offset drawn anew for each window from the laws that
// its source states; the meter sees the stand-in library alone, the truth comes from the machine.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace perjoule::bench {

struct CoverageOptions {
  std::string standin;  ///< path of the library
  int windows = 2000;
  std::uint64_t seed = 1;
  Seconds shortest{0.005};
  Seconds longest{60};
  /// The load's phases last between these, evenly likely on a logarithmic scale.
  Seconds shortest_phase{0.01};
  Seconds longest_phase{10};
  bool sampled = false;  ///< with the sampler of `perjoule run` (100 ms) beside the windows
};

struct CoverageCount {
  std::string of;
  int windows = 0;
  int covered = 0;
  double width = 0;  ///< sum over windows of the expanded relative uncertainty, each at most 1
  double share() const { return windows > 0 ? static_cast<double>(covered) / windows : 0; }
};

struct CoverageResult {
  CoverageCount all;
  std::vector<CoverageCount> by_device;
  std::vector<CoverageCount> by_length;  ///< decades: 5 to 10 ms, 10 to 100 ms, ...
  int outside_hard_bounds = 0;           ///< gain and offset allowed for
};

/// Uses the environment variable that names the machine to the library, and puts it back.
Result<CoverageResult> measure_coverage(const CoverageOptions& options);

}  // namespace perjoule::bench
