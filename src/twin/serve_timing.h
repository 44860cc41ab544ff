// What a step of a simulated inference server costs: time and power by batch size, and the phase of
// the simulated GPU that takes just that.
//
//   PJ_TRY(const ServeModel* const model, find_serve_model("llama-3.1-8b", "h100"));
//   const StepCost step = decode_cost(*model, 64);         // 11.5 ms at 610 W
//   world.run(0, phase_of(step, *model, silicon));         // ... on the simulated GPU
//
// Decode steps are measured (data/twin_serving.csv, the ML.ENERGY Benchmark): between two measured
// batch sizes time and power lie on the straight line between them. Below the first they lie on the
// line through the first two, above the last the time lies on the line through the last two and the
// power stays. The power is the mean over a run of chats, prefills included; the time is the median
// inter-token latency, which leaves most prefills out.
//
// Prefill is synthetic: Llama-2-70B's on two H100s, scaled by parameters and GPUs, at the highest
// power that was measured of the model, and never faster than a decode step, as the weights are to
// be read all the same. Whoever prints a figure that rests on it says so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "twin/physics.h"

namespace perjoule::twin {

/// One measured batch size.
struct DecodePoint {
  double batch = 0;  ///< mean number of requests in the running set
  Seconds itl;       ///< median inter-token latency
  Watts power;       ///< mean, of the GPU
};

/// A model on one kind of GPU.
struct ServeModel {
  std::string gpu;                  ///< key of a GpuModel
  std::string key;                  ///< "llama-3.1-8b", as users write it
  std::string name;                 ///< "meta-llama/Llama-3.1-8B-Instruct", as clients do
  double weight_bytes = 0;          ///< two a parameter: all of the table are bfloat16
  double kv_bytes_per_token = 0;    ///< of the key-value cache
  int context_tokens = 0;           ///< prompt and answer together
  Seconds prefill_per_token;        ///< see prefill_origin
  std::string prefill_origin;       ///< "synthetic"
  std::vector<DecodePoint> decode;  ///< by rising batch, at least two
};

/// Reads the table of models and that of their decode steps, data/twin_serving_models.csv and
/// data/twin_serving.csv: a ServeModel for each GPU that a model was measured on. invalid_argument,
/// with table and line, for a model without two points or in no rising order, and for amounts that
/// are not above 0.
Result<std::vector<ServeModel>> parse_serve_models(std::string_view models,
                                                   std::string_view points);
/// The shipped ones.
const std::vector<ServeModel>& shipped_serve_models();
/// By key or name, in any case; not_found lists the models there are on that GPU, or, where it has
/// none, the GPUs that have any.
Result<const ServeModel*> find_serve_model(std::string_view model, std::string_view gpu);

struct StepCost {
  Seconds time;
  Watts power;
  Joules energy() const { return time * power; }
};
/// One token for each of `batch` requests, from 1 up.
StepCost decode_cost(const ServeModel& model, int batch);
/// The prompts' tokens, of one request or several together. Synthetic.
StepCost prefill_cost(const ServeModel& model, int tokens);

/// The phase that takes that time and draws that power at the chip's highest clock and reference
/// temperature. Reading the weights does not depend on the clock, all else does.
Phase phase_of(const StepCost& cost, const ServeModel& model, const Silicon& chip);

/// Blocks of `block_tokens` tokens that fit beside the weights into nine tenths of the memory, the
/// share that vLLM takes unless told otherwise.
int kv_blocks_of(const ServeModel& model, std::uint64_t memory_bytes, int block_tokens);

}  // namespace perjoule::twin
