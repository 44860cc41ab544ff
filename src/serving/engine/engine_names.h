// What the servers call their metrics.
#pragma once

#include <array>
#include <string_view>

#include "serving/engine/engine_metrics.h"

namespace perjoule {

/// Of one figure, the names it has or had, the newest first; unused places are empty.
using MetricNames = std::array<std::string_view, 2>;

/// Counters may stand on the page with or without `_total`.
struct EngineNames {
  std::string_view server;
  std::string_view prefix;
  std::array<MetricNames, kEngineCounters> counters;
  std::array<MetricNames, kEngineGauges> gauges;
  std::array<MetricNames, kEngineHistograms> histograms;
};

/// vLLM: docs/usage/metrics and its pull requests 18354 (gpu_ names replaced) and 24110 (time per
/// output token replaced). SGLang: docs/references/production_metrics. llama.cpp:
/// tools/server/README.
inline constexpr std::array<EngineNames, 3> kEngineNames{{
    {"vllm",
     "vllm:",
     {{{"prompt_tokens"},
       {"generation_tokens"},
       {"request_success"},
       {"num_preemptions"},
       {"prefix_cache_queries", "gpu_prefix_cache_queries"},
       {"prefix_cache_hits", "gpu_prefix_cache_hits"}}},
     {{{"num_requests_running"},
       {"num_requests_waiting"},
       {"kv_cache_usage_perc", "gpu_cache_usage_perc"}}},
     {{{"time_to_first_token_seconds"},
       {"inter_token_latency_seconds", "time_per_output_token_seconds"},
       {"e2e_request_latency_seconds"},
       {"request_queue_time_seconds"},
       {"request_prefill_time_seconds"},
       {"request_decode_time_seconds"},
       {"request_prompt_tokens"},
       {"request_generation_tokens"}}}},
    {"sglang",
     "sglang:",
     {{{"prompt_tokens"}, {"generation_tokens"}, {"num_requests"}, {}, {}, {"cached_tokens"}}},
     {{{"num_running_reqs"}, {"num_queue_reqs"}, {"token_usage"}}},
     {{{"time_to_first_token_seconds"},
       {"inter_token_latency_seconds", "time_per_output_token_seconds"},
       {"e2e_request_latency_seconds"},
       {"queue_time_seconds"},
       {},
       {},
       {},
       {}}}},
    {"llamacpp",
     "llamacpp:",
     {{{"prompt_tokens"}, {"tokens_predicted"}, {}, {}, {}, {}}},
     {{{"requests_processing"}, {"requests_deferred"}, {"kv_cache_usage_ratio"}}},
     {}},
}};

}  // namespace perjoule
