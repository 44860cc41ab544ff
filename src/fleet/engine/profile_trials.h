// The profile of simulated engines: each layout, clock and class of requests tried at rising loads.
//
//   PJ_TRY(const ServingProfile profile, profile_of_engines(models, lengths, {}));
//
// Requests of a class have lengths picked from those of the class among `lengths`; the curves
// without a class are of all of them together. A class without lengths has no curves. A curve ends
// with the first load at which fewer than half of the requests are in time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "fleet/engine/load_trial.h"
#include "fleet/profile/serving_profile.h"

namespace perjoule {

struct ProfileTrials {
  LayoutLimits limits = {.every = {.most_running = 256, .step_tokens = 512}, .step_tokens = {}};
  ServiceLevels levels = dynamo_levels();
  /// Prompt tokens a second of an instance, rising.
  std::vector<double> loads = {125,  250,  500,  1000,   1500,   2000,   3000,  4000,
                               5000, 6000, 8000, 10'000, 12'000, 16'000, 20'000};
  TrialSize size = {};
  /// That share a load of one class, and one of all classes, whose pool is the whole fleet.
  int instances = 4;
  int instances_of_all = 8;
  std::uint64_t seed = 1;
  bool only_of_all = false;  ///< no curves by class
  bool only_at_highest_clock = false;
  /// Told how many of how many curves are done, from any thread; none: nobody.
  std::function<void(std::size_t, std::size_t)> progress = {};
};

/// On all processors; the same for the same seed on any number of them. invalid_argument without
/// lengths or rising loads. O(curves x loads x steps of a trial).
Result<ServingProfile> profile_of_engines(
    const std::vector<std::shared_ptr<const StepModel>>& models,
    std::span<const TokenLengths> lengths, const ProfileTrials& trials);

}  // namespace perjoule
