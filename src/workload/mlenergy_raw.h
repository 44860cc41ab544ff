// results.json of the ML.ENERGY benchmark itself: one run with its requests and timelines.
//
// Rows are made as the project's own data toolkit makes them for the leaderboard: output rate =
// (steady energy / energy per token) / steady time, power = steady energy / steady time, energy per
// response = energy per token x output tokens / completed requests. The list of gaps between tokens
// is repaired first: zeros before the first gap are dropped, and a gap followed by k zeros (k
// tokens that came in the same chunk) becomes k + 1 equal gaps.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "workload/bench_result.h"

namespace perjoule {

inline constexpr std::string_view kMlEnergyRaw = "ML.ENERGY";

bool is_mlenergy_raw(const Json& document);

/// The task is not in the file: it is taken from a path .../llm/TASK/results/..., else "not
/// stated". Errors name the file and the member.
Result<BenchResult> read_mlenergy_raw(const Json& document, std::string_view name);

/// The gaps after the repair above; seconds.
std::vector<double> repaired_gaps(const std::vector<double>& gaps);

}  // namespace perjoule
