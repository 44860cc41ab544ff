// Which benchmark results a question is about.
//
//   ResultFilter filter;
//   filter.gpus = {"H100"};
//   PJ_TRY(const ResultSelection rows, filter_results(files.results, filter));
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "workload/bench_result.h"

namespace perjoule {

/// Each list is of alternatives; an empty one lets everything pass.
struct ResultFilter {
  std::vector<std::string> benchmarks = {};
  std::vector<std::string> tasks = {};
  std::vector<std::string> gpus = {};  ///< short or whole name
  std::vector<std::int64_t> gpu_counts = {};
  /// Id or nickname, or, where none is called so, a part of the id.
  std::vector<std::string> models = {};
  std::vector<std::string> precisions = {};
  std::vector<std::string> architectures = {};
};

struct ResultSelection {
  std::vector<std::size_t> rows;  ///< indices, in their order; never empty
  /// Results left out for what speaks against them, with one of their reasons.
  std::vector<std::size_t> invalid;
};

/// Words match whatever their case. Fails with not_found, naming what there is, when a word of the
/// filter fits no result at all, or when no result fits all of them. O(results x words).
Result<ResultSelection> filter_results(const std::vector<BenchResult>& results,
                                       const ResultFilter& filter);

}  // namespace perjoule
