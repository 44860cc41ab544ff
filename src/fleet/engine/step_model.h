// What one step of an inference engine costs, by what it computes and at which clock.
//
//   StepBatch batch;
//   batch.decodes = 64;
//   batch.context = 64 * 900;
//   const StepCost cost = model.cost(batch, model.highest_clock());
//
// A step computes the next token of every running request and parts of prompts beside them
// (chunked prefill). Models differ in where their figures come from: operator tables of one GPU
// (operator_steps.h), or whole steps by tokens with factors for clocks (table_steps.h). Where
// energies are not known they are NaN, and so is all that they enter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/energy.h"
#include "base/units.h"
#include "fleet/profile/serving_profile.h"

namespace perjoule {

/// A part of a prompt that a step computes.
struct PrefillChunk {
  std::int64_t tokens = 0;
  std::int64_t context = 0;  ///< of the same prompt, computed before
};

struct StepBatch {
  std::int64_t decodes = 0;         ///< requests that get their next token
  std::int64_t context = 0;         ///< tokens in the cache over all of those
  std::int64_t prefill_tokens = 0;  ///< over all chunks
  std::int64_t sampled = 0;         ///< tokens that come out: decodes and prompts that end here
  std::span<const PrefillChunk> chunks = {};
};

struct StepCost {
  Seconds time = {};
  Joules energy = {};  ///< of all GPUs of the instance
};

/// An instance's engine, without its requests.
class StepModel {
 public:
  /// What does not change from step to step.
  struct Traits {
    InstanceLayout layout = {};
    std::vector<double> clocks_mhz = {};  ///< rising, at least one
    std::vector<Watts> idle = {};         ///< at each clock, of all GPUs; NaN: not known
    std::int64_t cache_tokens = 0;        ///< that fit into the key-value cache
    Status status = Status::kEstimated;   ///< of its figures
    std::string origin = {};
  };

  virtual ~StepModel() = default;
  /// `clock` indexes the clocks. O(chunks).
  virtual StepCost cost(const StepBatch& batch, std::size_t clock) const noexcept = 0;

  const Traits& traits() const { return traits_; }
  std::size_t highest_clock() const { return traits_.clocks_mhz.size() - 1; }

 protected:
  explicit StepModel(Traits traits) : traits_(std::move(traits)) {}

 private:
  Traits traits_;
};

}  // namespace perjoule
