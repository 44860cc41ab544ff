// How many tokens a step of an engine is to compute at most, by layout: the number with which its
// instances carry most. Small steps keep the gaps between tokens short where few GPUs share a
// layer; large ones waste less of each step where many do.
//
//   PJ_TRY(const std::vector<StepChoice> steps, best_steps(models, lengths, trials, 0.95));
//   steps[layout].step_tokens;
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "fleet/engine/profile_trials.h"

namespace perjoule {

struct StepTrial {
  std::int64_t step_tokens = 0;
  double carries = 0;  ///< prompt tokens a second of an instance, in time
};

struct StepChoice {
  std::int64_t step_tokens = 0;  ///< that of `limits` where nothing is in time with any
  double carries = 0;
  double clock_mhz = 0;               ///< at which that is: the highest
  std::vector<StepTrial> tried = {};  ///< by rising tokens
};

/// What is tried: 256 to 4,096, by halves and thirds of powers of two.
std::span<const std::int64_t> step_candidates();

/// A choice a model, by what it carries of all classes together at its highest clock with that
/// share of the requests in time; of equals the smallest. `trials` as for a profile, whose loads
/// they are tried at. Errors of profile_of_engines(). O(candidates x models x loads).
Result<std::vector<StepChoice>> best_steps(
    const std::vector<std::shared_ptr<const StepModel>>& models,
    std::span<const TokenLengths> lengths, const ProfileTrials& trials, double least_attainment);

}  // namespace perjoule
