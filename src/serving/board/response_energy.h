// How the energy of a response is spread, where the lengths of the answers are known: a response
// of n output tokens takes n times the energy of one.
//
// That holds for the energy as benchmarks share it out (all of it over the output tokens): a long
// prompt's share shows in the mean, not in the spread.
#pragma once

#include <optional>
#include <vector>

#include "base/units.h"
#include "workload/bench_result.h"

namespace perjoule {

struct ResponseEnergies {
  std::vector<Joules> edges;   ///< of the bins, one more than counts
  std::vector<double> counts;  ///< responses
  Joules p50;                  ///< linear within a bin
  Joules p90;
  Joules p99;
};

/// None without lengths, or where they count no response.
std::optional<ResponseEnergies> response_energies(const BenchResult& result);

/// The same counts over bins whose edges are 1, 1.5, 2, 3, 5 and 7 times powers of ten, as the
/// ML.ENERGY leaderboard draws them; what lies in a bin is taken as spread evenly over it.
ResponseEnergies in_log_bins(const ResponseEnergies& energies);

}  // namespace perjoule
