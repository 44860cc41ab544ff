// What a simulated instance draws and how late it is under a steady load: a point of its profile.
//
//   const TrialLoad load{.lengths = lengths_of_class, .prompt_rate = 2000};
//   const ServingPoint point = serve_trial(*model, clock, load, {});
//
// Requests come at random (Poisson), their lengths are picked evenly from those given, and each
// goes to that one of some instances that has least before it: an instance alone is later at the
// same load, as nobody else takes what comes while a long prompt is computed. What came in the
// first fifth of the time is served and not counted, so that queues are as they stay.
#pragma once

#include <cstdint>
#include <span>

#include "base/units.h"
#include "fleet/engine/instance.h"
#include "fleet/engine/step_model.h"
#include "fleet/profile/serving_profile.h"
#include "fleet/traffic/load_class.h"
#include "workload/azure_trace.h"

namespace perjoule {

struct TrialLoad {
  std::span<const TokenLengths> lengths = {};  ///< at least one; those the cache cannot hold fail
  double prompt_rate = 0;                      ///< prompt tokens a second of one instance, above 0
  int instances = 4;                           ///< that share the requests
  ServiceLevels levels = dynamo_levels();
  std::uint64_t seed = 1;
};

struct TrialSize {
  std::int64_t requests = 1000;  ///< that are counted, at least
  Seconds time = Seconds(300);   ///< and for so long, at least: near its end a queue grows slowly
  /// A queue that has so many times the counted requests' time and is not empty never will be:
  /// what still waits then missed what was promised.
  double patience = 3;
};

/// The point of one of the instances at that load. A request meets what was promised to its class
/// if its first token came in time and 99 % of the gaps between all tokens of its class did.
/// O(steps).
ServingPoint serve_trial(const StepModel& model, EngineLimits limits, std::size_t clock,
                         const TrialLoad& load, const TrialSize& size);

}  // namespace perjoule
