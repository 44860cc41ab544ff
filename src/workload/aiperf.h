// Results of NVIDIA's AIPerf (profile_export_aiperf.json) and of its predecessor genai-perf
// (profile_export_genai_perf.json), whose shape the newer one keeps.
//
// Each metric is an object of `unit` and statistics (`avg`, `p50`, ...): `request_throughput`,
// `request_count`, `request_latency`, `time_to_first_token`, `inter_token_latency`,
// `output_token_throughput`, `input_sequence_length`, `output_sequence_length`; AIPerf (schema 1.0)
// adds `inter_chunk_latency`, `total_osl`, `total_isl`, `total_output_tokens`,
// `total_reasoning_tokens`, `error_request_count`, `benchmark_duration`, `was_cancelled`,
// `start_time`, `end_time` and, where it keeps internal ones, `min_request_timestamp` and
// `max_response_timestamp`. The model stands in `input_config`: `models.items` (AIPerf of schema
// 1.3), `endpoint.model_names` (before), `model_names` (genai-perf of 2025), `model` (before that).
//
// What both call inter_token_latency is, by request, (latency - TTFT) / (output tokens - 1): that
// is TPOT here. AIPerf's inter_chunk_latency is taken for ITL: right where a chunk is a token.
//
// The window: AIPerf's min_request_timestamp to max_response_timestamp, unix nanoseconds, else
// start_time to end_time, which are local time without a zone. genai-perf writes no time of day.
#pragma once

#include <optional>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "workload/bench_result.h"

namespace perjoule {

inline constexpr std::string_view kAiPerf = "AIPerf";
inline constexpr std::string_view kGenAiPerf = "genai-perf";

bool is_aiperf(const Json& document);

/// `utc_offset` is what local time was ahead of UTC; none: this machine's. Errors are
/// invalid_argument, naming file and member.
Result<BenchResult> read_aiperf(const Json& document, std::string_view name,
                                std::optional<Seconds> utc_offset);

}  // namespace perjoule
