// Steps put together from measured operators of one transformer layer: LLMServingSim's tables.
//
//   PJ_TRY(const std::unique_ptr<StepModel> model, operator_steps({dense, attention, per_sequence},
//                                                                 {.layers = 32, .overhead =
//                                                                 ...}));
//
// Time of a step = layers x (dense operators by tokens + attention) + embedding, last norm + head
// and sampler by sequences + overhead. Attention is that of the decodes, all of the mean context,
// and of each chunk of a prompt by itself: where several prompts share a step, their attention adds
// up. Tables hold times only, so energies are NaN.
//
// Source: casys-kaist/LLMServingSim, profiler/perf (tables) and its paper; the sum is ours.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "fleet/engine/step_model.h"

namespace perjoule {

/// The three tables as CSV texts: (layer, tokens, time_us), (prefill_chunk, kv_prefill, n_decode,
/// kv_decode, time_us), (layer, sequences, time_us).
struct OperatorTables {
  std::string_view dense;
  std::string_view attention;
  std::string_view per_sequence;
};

struct OperatorModel {
  InstanceLayout layout = {};
  int layers = 32;
  Seconds overhead = {};  ///< of the host, each step
  std::int64_t cache_tokens = std::int64_t{1} << 40;
  std::string origin = {};
};

/// data_loss naming table and line for what is no table; not_found for an operator that is missing.
Result<std::unique_ptr<StepModel>> operator_steps(const OperatorTables& tables,
                                                  OperatorModel model);

}  // namespace perjoule
