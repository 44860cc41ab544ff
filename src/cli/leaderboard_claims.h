// `perjoule leaderboard --claims`: published claims beside what the results at hand say.
#pragma once

#include <vector>

#include "cli/verb.h"
#include "workload/bench_result.h"

namespace perjoule::cli {

/// All claims, or those that --claim names with every figure. Status 1 where none of them can be
/// recomputed from these results.
Result<int> run_claims(const Arguments& arguments, const std::vector<BenchResult>& results);

}  // namespace perjoule::cli
