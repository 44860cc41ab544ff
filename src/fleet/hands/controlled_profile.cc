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

/// Curves of any class once more for each class that has none of its own, as a class's requests are
/// due when its level says.
void add_classes(ServingProfile& profile) {
  const std::vector<ProfileCurve> curves = profile.curves;
  for (const ProfileCurve& curve : curves) {
    if (!curve.load_class.empty()) continue;
    for (std::size_t i = 0; i < kLoadClasses; ++i) {
      ProfileCurve one = curve;
      one.load_class = name_of_class(static_cast<LoadClass>(i));
      const bool has_own =
          std::any_of(curves.begin(), curves.end(), [&one](const ProfileCurve& other) {
            return other.layout == one.layout && other.clock_mhz == one.clock_mhz &&
                   other.load_class == one.load_class;
          });
      if (!has_own) profile.curves.push_back(std::move(one));
    }
  }
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
  for (const ProfileCurve& curve : ready.profile.curves) {
    for (const ServingPoint& point : curve.points) {
      ++ready.points;
      ready.estimated += !std::isfinite(point.attainment);
      least = std::min(least, point.power.value() / curve.layout.gpus());
    }
  }
  add_classes(ready.profile);
  for (ProfileCurve& curve : ready.profile.curves) {
    const auto known = class_named(curve.load_class);
    const ServiceLevel& level = known ? engines.levels[*known] : engines.levels.back();
    for (ServingPoint& point : curve.points) {
      if (std::isfinite(point.attainment)) continue;
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
