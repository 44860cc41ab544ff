// Reports of trtllm-bench (throughput and latency, --report_json), as of TensorRT-LLM's source of
// 2025.
//
// Read are `engine` (`model`, `version`, `dtype`, `quantization`), `machine.name` (newer ones),
// `world_info` (`tp_size`, `pp_size`, `ep_size`, `world_size`, `max_batch_size`), `request_info`
// (`num_requests`, `avg_num_concurrent_requests`, `avg_input_length`, `avg_output_length`),
// `performance` (`total_latency_ms`, `request_throughput_req_s`,
// `system_output_throughput_tok_s`, `system_total_throughput_tok_s`,
// `request_latency_percentiles_ms`) and, of a streaming run, `streaming_metrics`
// (`ttft_percentiles`, `tpot_percentiles`, in ms). Percentiles are `p50` ... `p99`, `average`.
//
// The window: its length is `total_latency_ms`, from the first request's start to the last one's
// end. Nothing in the report says when that was. Nor does it say how many requests failed: the
// totals are of all.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "workload/bench_result.h"

namespace perjoule {

inline constexpr std::string_view kTrtLlmBench = "trtllm-bench";

bool is_trtllm_bench(const Json& document);

/// Errors are invalid_argument, naming file and member.
Result<BenchResult> read_trtllm_bench(const Json& document, std::string_view name);

}  // namespace perjoule
