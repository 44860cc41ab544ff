#include "meter/measurement.h"

#include <algorithm>

namespace perjoule {

std::string_view name_of(SyncVerdict verdict) {
  constexpr std::string_view kNames[] = {"synchronised", "not_requested", "busy_at_end"};
  return kNames[static_cast<int>(verdict)];
}

bool adds_up(const SourceInfo& one, const std::vector<const SourceInfo*>& all) {
  if (one.overlaps.empty()) return true;
  if (one.boundary != Boundary::kNode) {
    return std::none_of(all.begin(), all.end(),
                        [&one](const SourceInfo* other) { return other->id == one.overlaps; });
  }
  // What is measured of the machine's inside lies within every meter of the whole, whichever source
  // that one names; of several such meters the first stands for all.
  for (const SourceInfo* other : all) {
    if (other->boundary != Boundary::kNode) return false;
  }
  return all.empty() || all.front()->id == one.id;
}

bool Measurement::is_summed(const SourceMeasurement& source) const {
  std::vector<const SourceInfo*> all;
  for (const SourceMeasurement& one : sources) all.push_back(&one.info);
  return adds_up(source.info, all);
}

Energy Measurement::total() const {
  std::optional<Energy> sum;
  for (const SourceMeasurement& source : sources) {
    if (!is_summed(source)) continue;
    sum = sum ? *sum + source.energy : source.energy;
  }
  return sum.value_or(Energy::missing("no source"));
}

Energy Measurement::of_device(std::string_view device) const {
  std::optional<Energy> sum;
  for (const SourceMeasurement& source : sources) {
    if (source.info.device != device || !is_summed(source)) continue;
    sum = sum ? *sum + source.energy : source.energy;
  }
  return sum.value_or(Energy::missing(std::string(device)));
}

Watts Measurement::mean_power() const {
  return duration.value() > 0 ? total().joules / duration : Watts(0);
}

}  // namespace perjoule
