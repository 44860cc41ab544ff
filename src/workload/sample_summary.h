// Summaries of what a benchmark recorded request by request, made as the ML.ENERGY toolkit makes
// them, so that results of unlike tools compare.
#pragma once

#include <vector>

#include "workload/bench_result.h"

namespace perjoule {

/// Mean and percentiles, linear between neighbours; seconds, at least one. O(n log n).
LatencySummary summary_of(std::vector<double> values);

/// 50 equal bins from the shortest to the longest; at least one length, all finite. O(n).
LengthHistogram histogram_of(const std::vector<double>& lengths);

}  // namespace perjoule
