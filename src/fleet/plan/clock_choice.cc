#include "fleet/plan/clock_choice.h"

#include <algorithm>
#include <cmath>

namespace perjoule {
namespace {

/// How many times what is allowed the worse latency is; NaN where one is not known.
double times_of_target(const ServingPoint& point, const LatencyTarget& target) {
  const double ttft = point.ttft[target.ttft.statistic] / target.ttft.most;
  const double tbt = point.tbt[target.tbt.statistic] / target.tbt.most;
  return std::isnan(ttft) || std::isnan(tbt) ? ttft + tbt : std::max(ttft, tbt);
}

void keep_cheaper(std::optional<ClockPick>& best, const ClockPick& pick) {
  if (!best || pick.at.point.power < best->at.point.power) best = pick;
}

}  // namespace

ServingProfile select_curves(const ServingProfile& profile, std::string_view model,
                             std::string_view gpu, std::string_view load_class) {
  ServingProfile selected;
  selected.notes = profile.notes;
  const auto take = [&](std::string_view of_class) {
    for (const ProfileCurve& curve : profile.curves) {
      if (!model.empty() && curve.layout.model != model) continue;
      if (!gpu.empty() && curve.layout.gpu != gpu) continue;
      if (curve.load_class == of_class || load_class.empty()) selected.curves.push_back(curve);
    }
  };
  take(load_class);
  if (selected.curves.empty() && !load_class.empty()) take("");
  return selected;
}

std::vector<bool> at_highest_clock(const ServingProfile& profile) {
  std::vector<bool> highest;
  for (const ProfileCurve& curve : profile.curves) {
    highest.push_back(
        std::none_of(profile.curves.begin(), profile.curves.end(), [&](const ProfileCurve& other) {
          return other.layout.gpu == curve.layout.gpu && other.clock_mhz > curve.clock_mhz;
        }));
  }
  return highest;
}

std::optional<double> ClockChoice::saving() const {
  if (!chosen || !reference) return std::nullopt;
  return 1 - chosen->at.point.power / reference->at.point.power;
}

ClockChoice choose_clock(const ServingProfile& profile, double load, const LatencyTarget& target) {
  ClockChoice choice;
  const std::vector<bool> highest = at_highest_clock(profile);
  for (std::size_t i = 0; i < profile.curves.size(); ++i) {
    const ProfileCurve& curve = profile.curves[i];
    if (!curve.points.empty())
      choice.highest_load = std::max(choice.highest_load, curve.points.back().load);
    const ClockPick pick{i, at_load(curve, load)};
    if (pick.at.reach == Reach::kBeyond) continue;
    if (highest[i]) keep_cheaper(choice.reference, pick);
    if (meets(pick.at.point, target)) keep_cheaper(choice.chosen, pick);
    const double times = times_of_target(pick.at.point, target);
    if (std::isnan(times) || (choice.nearest && times >= choice.nearest_times)) continue;
    choice.nearest = pick;
    choice.nearest_times = times;
  }
  choice.reference_meets = choice.reference && meets(choice.reference->at.point, target);
  if (choice.chosen) choice.nearest.reset();
  return choice;
}

}  // namespace perjoule
