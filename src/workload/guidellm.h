// Results of guidellm (benchmarks.json): one file holds a benchmark a rate, each of which becomes a
// result.
//
// Each benchmark has `metrics`, whose members are distributions (`mean`, `median`, `count`,
// `total_sum`, `percentiles`) by how requests ended: `successful`, `incomplete`, `errored`,
// `total`. Read are those that were successful. Versions:
//
// | of         | 0.2 and 0.3                     | 0.4 and newer |
// | window     | `start_time`, `end_time`        | `scheduler_metrics.measure_start_time`,
// `measure_end_time` | | strategy   | `args.strategy`, kind `type_`   | `config.strategy`, kind
// `type_`, from 0.7 on `kind` | | model      | `worker.backend_model`          |
// `config.backend.model`, or `args.model` or `config.spec.backend.model` of the report | | how many
// | `request_totals`                | `metrics.request_totals` |
//
// What it calls inter_token_latency_ms is the mean gap by request, weighted by tokens: TPOT here.
// Its time_per_output_token_ms holds the first token in some versions and is not read.
//
// The window is unix time of the client's clock: without warm-up and cool-down from 0.4 on, before
// from the first request to the last response. Requests that were cut off at the end of the window
// are not failures; what they took is in the energy and their tokens are not in the totals, so that
// an energy per token is the larger the shorter the run.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "workload/bench_result.h"

namespace perjoule {

inline constexpr std::string_view kGuideLlm = "guidellm";

bool is_guidellm(const Json& document);

/// In the file's order, rows from 1. Errors are invalid_argument, naming file, row and member.
Result<std::vector<BenchResult>> read_guidellm(const Json& document, std::string_view name);

}  // namespace perjoule
