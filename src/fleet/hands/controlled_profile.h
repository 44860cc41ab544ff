// A serving profile made ready for the control of a real fleet: the curves of its engines alone,
// with the share of requests that are in time at every point.
//
//   PJ_TRY(const ControlledProfile ready, controlled_profile(profile, {.degrees = {{2, 1}}, ...}));
//   PJ_TRY(const EngineCapacity capacity,
//          EngineCapacity::make(ready.profile, ready.layouts, 0.95));
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "fleet/profile/serving_profile.h"
#include "fleet/traffic/load_class.h"

namespace perjoule {

struct ControlledEngines {
  std::string model = {};                         ///< empty: the profile's only one
  std::string gpu = {};                           ///< likewise
  std::vector<std::pair<int, int>> degrees = {};  ///< of tensor and pipeline parallelism
  ServiceLevels levels = {};
};

struct ControlledProfile {
  ServingProfile profile = {};
  std::vector<InstanceLayout> layouts = {};  ///< in the order of the degrees
  std::size_t estimated = 0;                 ///< points whose attainment is estimated, of
  std::size_t points = 0;                    ///< so many
  /// The least that a point of the profile takes for each GPU: what one without an instance is
  /// reckoned at where nobody says better.
  Watts least_of_a_gpu = {};
};

/// Attainment that was counted stays; else it is estimated (attainment_estimate.h) against the
/// level of the curve's class. A curve of any class becomes one of each class that has none, and
/// stays itself by the level of the longest. not_found, naming what there is, where the model, the
/// GPU or a layout is not in it; invalid_argument where several models or GPUs are and none is
/// chosen, and for a curve whose latencies are not known.
Result<ControlledProfile> controlled_profile(const ServingProfile& profile,
                                             const ControlledEngines& engines);

}  // namespace perjoule
