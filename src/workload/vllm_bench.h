// Results of `vllm bench serve` (before v0.9 benchmark_serving.py), of --save-result and
// --append-result.
//
// Members, as of vLLM's source of 2024 to 2026: `date`, `backend` (from v0.9 on `endpoint_type`
// too), `model_id`, `num_prompts`, `request_rate` ("inf": all at once), `burstiness`,
// `max_concurrency`, `duration`, `completed`, `failed` (newer ones only), `total_input_tokens`,
// `total_output_tokens`, `request_throughput`, `output_throughput`, `total_token_throughput`, and
// mean_, median_, p<N>_ of ttft, tpot, itl and e2el in ms: p99 alone unless --metric-percentiles
// asks for others. With --save-detailed also `itls`, `output_lens` and `errors` by request. A
// statistic of nothing is 0 there, or NaN.
//
// The window: `date` is local time, to the second, of when the result was put together; the run
// ended before that by the time that counting tokens and statistics took, which nobody writes.
// Taken is 3 s at most, so that date - 1 s is the end to within 2 s. `duration` is of a monotonic
// clock and right. A fork that writes `benchmark_start_time_unix` and `benchmark_end_time_unix` is
// believed. `start_times` are of that clock: they place requests within the run, and the
// run nowhere.
#pragma once

#include <optional>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "workload/bench_result.h"

namespace perjoule {

inline constexpr std::string_view kVllmBench = "vllm bench serve";

bool is_vllm_bench(const Json& document);

/// `utc_offset` is what the local time of `date` was ahead of UTC; none: this machine's. Errors are
/// invalid_argument, naming file and member. O(requests).
Result<BenchResult> read_vllm_bench(const Json& document, std::string_view name,
                                    std::optional<Seconds> utc_offset);

}  // namespace perjoule
