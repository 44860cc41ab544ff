// Logs of MLPerf inference's loadgen: mlperf_log_summary.txt, and of mlperf_log_detail.txt beside
// it when the run was.
//
// Of the summary (v0.7 to v5.1) lines "key : value" are read: SUT name, scenario, mode, whether the
// result is valid, samples and tokens per second ("Completed tokens per second" of Server, "Tokens
// per second" of Offline), latency of samples, first tokens and output tokens in ns. The mean of
// the last is "Mean Time per Output Token", in v4.0 "Mean Time to Output Token". No model is
// named: it is taken from a path .../MODEL/SCENARIO/..., as submissions have it.
//
// Of the detail: the stamps `power_begin` and `power_end`, made for joining with a power meter,
// "MM-DD-YYYY hh:mm:ss.mmm", which loadgen writes in UTC (early ones wrote local time, and are out
// by that), and `result_query_count`.
//
// Neither says how many tokens were made; they follow from the rates:
//   Offline       samples = samples/s x longest latency, as the rate is samples over that time
//   Server        time = (queries - 1) / completed samples/s; tokens = tokens/s x time
//   SingleStream  samples = queries
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "workload/bench_result.h"

namespace perjoule {

inline constexpr std::string_view kMlPerf = "MLPerf loadgen";
inline constexpr std::string_view kMlPerfDetail = "mlperf_log_detail.txt";

/// Whether the text, or its beginning, is of a summary.
bool is_mlperf_summary(std::string_view text);

/// Errors are invalid_argument, naming file and line's key. O(bytes).
Result<BenchResult> read_mlperf_summary(std::string_view text, std::string_view name);

/// Adds what the detailed log of the same run tells: the window and, where the summary's rates need
/// it, the totals. A log without the stamps adds no window. invalid_argument when they are not two
/// stamps in order. O(bytes).
Outcome add_mlperf_detail(std::string_view text, std::string_view name, BenchResult& result);

}  // namespace perjoule
