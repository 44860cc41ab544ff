// Which latency of a benchmark result a deadline is about: "median-itl", "p95-ttft", "mean-tpot",
// "p99-e2el", "batch".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "workload/bench_result.h"

namespace perjoule {

struct LatencyMetric {
  enum class Of : std::uint8_t { kItl, kTtft, kTpot, kEndToEnd, kBatch };
  enum class At : std::uint8_t { kMean, kMedian, kP90, kP95, kP99 };
  Of of = Of::kItl;
  At at = At::kMedian;  ///< of a batch's latency there is but one figure
  bool operator==(const LatencyMetric&) const = default;
};

/// Reads the words above. Fails with invalid_argument naming those there are.
Result<LatencyMetric> parse_latency_metric(std::string_view text);
/// "median ITL", "P95 TTFT", "batch latency".
std::string text_of(const LatencyMetric& metric);

/// None where the result does not have it.
std::optional<Seconds> latency_of(const BenchResult& result, const LatencyMetric& metric);

}  // namespace perjoule
