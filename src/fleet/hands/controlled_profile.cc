#include "fleet/hands/controlled_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "fleet/plan/clock_choice.h"
#include "fleet/profile/attainment_estimate.h"

namespace perjoule {
namespace {

std::string joined(const std::set<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

ServiceLevel level_of(const ProfileCurve& curve, const ServiceLevels& levels) {
  const auto known = class_named(curve.load_class);
  return known ? levels[*known] : levels.back();
}

}  // namespace

Result<ControlledProfile> controlled_profile(const ServingProfile& profile,
                                             const ControlledEngines& engines) {
  PJ_CHECK(check_profile(profile));
  ControlledProfile ready;
  ready.profile = select_curves(profile, engines.model, engines.gpu, "");
  std::set<std::string> kinds;
  std::set<std::string> layouts;
  for (const ProfileCurve& curve : ready.profile.curves) {
    kinds.insert(curve.layout.model + " on " + curve.layout.gpu);
    layouts.insert(text_of(curve.layout));
  }
  if (kinds.empty()) {
    for (const ProfileCurve& curve : profile.curves)
      kinds.insert(curve.layout.model + " on " + curve.layout.gpu);
    return Error::not_found(
        fmt::format("profile: no curve of model '{}' on GPU '{}'", engines.model, engines.gpu),
        "it has " + joined(kinds));
  }
  if (kinds.size() > 1) {
    return Error::invalid_argument("profile: it has several engines: " + joined(kinds),
                                   "choose by 'model' and 'gpu' in [fleet]");
  }
  InstanceLayout layout = ready.profile.curves.front().layout;
  for (const auto& [tensor, pipeline] : engines.degrees) {
    layout.tensor_parallel = tensor;
    layout.pipeline_parallel = pipeline;
    if (layouts.count(text_of(layout)) == 0) {
      return Error::not_found(
          fmt::format("profile: no curve of {} for {}", text_of(layout), joined(kinds)),
          "it has " + joined(layouts));
    }
    ready.layouts.push_back(layout);
  }
  double least = std::numeric_limits<double>::infinity();
  for (ProfileCurve& curve : ready.profile.curves) {
    const ServiceLevel level = level_of(curve, engines.levels);
    for (ServingPoint& point : curve.points) {
      ++ready.points;
      least = std::min(least, point.power.value() / curve.layout.gpus());
      if (std::isfinite(point.attainment)) continue;
      ++ready.estimated;
      point.attainment = estimated_attainment(point, level.first_token, level.between_tokens);
      if (std::isfinite(point.attainment)) continue;
      return Error::invalid_argument(
          fmt::format("profile: {}: at load {:g} the time to the first token or between tokens is "
                      "not known",
                      text_of(curve), point.load),
          "control needs both");
    }
  }
  ready.least_of_a_gpu = Watts(least);
  return ready;
}

}  // namespace perjoule
