// Small questions asked of benchmark results by the recomputed claims.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "serving/board/gpu_tdp.h"
#include "workload/bench_result.h"

namespace perjoule {

using ClaimRows = std::vector<const BenchResult*>;

/// Valid results for which the condition holds, in their order.
template <typename Condition>
ClaimRows rows_where(const std::vector<BenchResult>& results, Condition&& condition) {
  ClaimRows rows;
  for (const BenchResult& r : results) {
    if (r.validity.empty() && unit_energy(r) != nullptr && condition(r)) rows.push_back(&r);
  }
  return rows;
}

template <typename Condition>
ClaimRows rows_where(const ClaimRows& from, Condition&& condition) {
  ClaimRows rows;
  for (const BenchResult* r : from) {
    if (condition(*r)) rows.push_back(r);
  }
  return rows;
}

/// Rows of one key together, in order of first appearance. O(n log n).
template <typename Key>
std::vector<ClaimRows> rows_by(const ClaimRows& rows, Key&& key_of) {
  std::vector<ClaimRows> groups;
  std::map<std::string, std::size_t> places;
  for (const BenchResult* r : rows) {
    const auto [at, is_new] = places.try_emplace(key_of(*r), groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(r);
  }
  return groups;
}

/// The first of least measure; rows must not be empty.
template <typename Measure>
const BenchResult& least_of(const ClaimRows& rows, Measure&& measure) {
  return **std::min_element(
      rows.begin(), rows.end(),
      [&](const BenchResult* a, const BenchResult* b) { return measure(*a) < measure(*b); });
}

inline double joules_per_unit(const BenchResult& r) { return unit_energy(r)->joules.value(); }
/// Infinite where it is not known, so that it is never the least.
inline double joules_per_response(const BenchResult& r) {
  const Energy* energy = response_energy(r);
  return energy == nullptr ? std::numeric_limits<double>::infinity() : energy->joules.value();
}

/// The middle value, or the mean of the two; values must not be empty.
inline double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// The task, model and GPU that a comparison holds together.
inline std::string task_model_gpu(const BenchResult& r) {
  return r.task + "|" + r.model.id + "|" + r.gpus.model;
}

}  // namespace perjoule
