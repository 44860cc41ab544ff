#include "meter/measurement.h"

#include <algorithm>

namespace perjoule {

std::string_view name_of(SyncVerdict verdict) {
  constexpr std::string_view kNames[] = {"synchronised", "not_requested", "busy_at_end"};
  return kNames[static_cast<int>(verdict)];
}

bool Measurement::is_summed(const SourceMeasurement& source) const {
  return source.info.overlaps.empty() ||
         std::none_of(sources.begin(), sources.end(), [&](const SourceMeasurement& other) {
           return other.info.id == source.info.overlaps;
         });
}

Energy Measurement::total() const {
  std::optional<Energy> sum;
  for (const SourceMeasurement& source : sources) {
    if (!is_summed(source)) continue;
    sum = sum ? *sum + source.energy : source.energy;
  }
  return sum.value_or(Energy::missing("no source"));
}

Watts Measurement::mean_power() const {
  return duration.value() > 0 ? total().joules / duration : Watts(0);
}

}  // namespace perjoule
