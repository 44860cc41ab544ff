#include "meter/cross_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace perjoule {
namespace {

bool is_figure(const Energy& energy) {
  return energy.status != Status::kMissing && !energy.one_sided();
}

/// Ends lie anywhere within the slower one's tick or averaging time: ten of them drown that.
bool is_long_enough(const SourceInfo& counter, const SourceInfo& gauge, Seconds duration) {
  return duration >= 10.0 * std::max({counter.tick, gauge.tick, gauge.averaging});
}

}  // namespace

void cross_check(std::vector<SourceMeasurement>& sources, Seconds duration) {
  for (SourceMeasurement& counter : sources) {
    if (counter.info.kind != SourceKind::kEnergyCounter || !is_figure(counter.energy)) continue;
    for (const SourceMeasurement& gauge : sources) {
      const bool of_it = gauge.info.kind == SourceKind::kPowerGauge &&
                         gauge.info.overlaps == counter.info.id &&
                         gauge.info.scope == counter.info.scope;
      if (!of_it || !is_figure(gauge.energy)) continue;
      if (!is_long_enough(counter.info, gauge.info, duration)) continue;
      const Joules apart(std::abs((counter.energy.joules - gauge.energy.joules).value()));
      const Joules known =
          counter.energy.expanded_uncertainty() + gauge.energy.expanded_uncertainty();
      const Joules greater = std::max(counter.energy.joules, gauge.energy.joules);
      if (apart <= known || apart <= 0.1 * greater) continue;
      counter.notes.push_back(fmt::format(
          "disagrees with its own gauge: {} by the counter, {} by {}; one of them is "
          "wrong",
          to_text(counter.energy.joules, 3), to_text(gauge.energy.joules, 3), gauge.info.id));
      break;
    }
  }
}

}  // namespace perjoule
