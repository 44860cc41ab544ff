// How near a simulated engine comes to a recorded run of a real one: the same requests, at the same
// instants, and when their tokens came.
//
//   PJ_TRY(const auto run, read_recorded_run(text, "vllm_requests.jsonl"));
//   PJ_TRY(const RunAgreement near, agreement_with(run, tables, limits, 100));
//   // of the requests after the first 100, mean TTFT is off by near.first_token, 0.01 for 1 %
//
// One constant, the host's time a step, is not in tables of operators. It is fitted on the time a
// token of the first requests, and all else is judged on the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "fleet/engine/instance.h"
#include "fleet/engine/operator_steps.h"

namespace perjoule {

struct ServedRequest {
  Seconds arrival = {};      ///< after the run's first
  std::int64_t prompt = 0;   ///< tokens
  std::int64_t output = 0;   ///< at least two
  Seconds first_token = {};  ///< after its arrival
  Seconds per_token = {};    ///< of the others, in the mean
};

/// LLMServingSim's record of vLLM: a JSON object a line with input_toks, output_toks, queued_ts,
/// first_token_ts and last_token_ts, by arrival. data_loss, naming the line, for what is none; for
/// no request. O(bytes).
Result<std::vector<ServedRequest>> read_recorded_run(std::string_view text, std::string_view name);

/// The same requests as an engine of that model serves them; those of which it ends otherwise than
/// with all tokens are an internal error. O(steps).
Result<std::vector<ServedRequest>> served_by(const std::vector<ServedRequest>& run,
                                             const StepModel& model, const EngineLimits& limits);

struct RunAgreement {
  Seconds overhead = {};   ///< of the host, each step, as it was fitted
  double first_token = 0;  ///< simulated mean TTFT over the recorded one, less 1
  double per_token = 0;    ///< the same of the time a token
  std::size_t judged = 0;  ///< requests
};

/// invalid_argument where fewer than `fitted` + 1 requests are there. Errors of the tables. Twenty
/// runs of the engine.
Result<RunAgreement> agreement_with(const std::vector<ServedRequest>& run,
                                    const OperatorTables& tables, const EngineLimits& limits,
                                    std::size_t fitted);

}  // namespace perjoule
