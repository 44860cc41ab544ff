#include "fleet/control/step_choice.h"

#include <array>

#include "fleet/control/engine_capacity.h"

namespace perjoule {
namespace {

constexpr std::array<std::int64_t, 9> kCandidates = {256,  384,  512,  768, 1024,
                                                     1536, 2048, 3072, 4096};

}  // namespace

std::span<const std::int64_t> step_candidates() { return kCandidates; }

Result<std::vector<StepChoice>> best_steps(
    const std::vector<std::shared_ptr<const StepModel>>& models,
    std::span<const TokenLengths> lengths, const ProfileTrials& trials, double least_attainment) {
  std::vector<StepChoice> choices(models.size());
  std::vector<InstanceLayout> layouts;
  for (std::size_t i = 0; i < models.size(); ++i) {
    choices[i].step_tokens = trials.limits.of(i).step_tokens;
    layouts.push_back(models[i]->traits().layout);
  }
  for (std::size_t k = 0; k < kCandidates.size(); ++k) {
    ProfileTrials with = trials;
    with.limits.step_tokens.assign(models.size(), kCandidates[k]);
    with.only_of_all = true;
    with.only_at_highest_clock = true;
    if (trials.progress) {
      with.progress = [&](std::size_t done, std::size_t all) {
        trials.progress(k * all + done, kCandidates.size() * all);
      };
    }
    PJ_TRY(const ServingProfile profile, profile_of_engines(models, lengths, with));
    for (std::size_t i = 0; i < models.size(); ++i) {
      // One at a time, as their highest clocks may differ.
      PJ_TRY(const EngineCapacity capacity,
             EngineCapacity::make(profile, {layouts[i]}, least_attainment));
      const double carries = capacity.highest_load(0, 0, kMixedClass);
      StepChoice& choice = choices[i];
      choice.clock_mhz = capacity.clock_mhz(0);
      choice.tried.push_back({kCandidates[k], carries});
      if (carries <= choice.carries) continue;
      choice.carries = carries;
      choice.step_tokens = kCandidates[k];
    }
  }
  return choices;
}

}  // namespace perjoule
