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

bool is_calibrated(const SourceInfo& info) { return info.scale != 1 || info.shift.value() != 0; }

/// What the source itself showed, before its calibration.
Joules as_read(const SourceMeasurement& source, Seconds duration) {
  return (source.energy.joules - source.info.shift * duration) / source.info.scale;
}

/// Two figures that ought to be the same, and how far apart they may be.
struct Pair {
  Joules counter;
  Joules gauge;
  Joules known;
};

Pair pair_of(const SourceMeasurement& counter, const SourceMeasurement& gauge, Seconds duration) {
  const Joules of_counter = counter.energy.expanded_uncertainty();
  const Joules of_gauge = gauge.energy.expanded_uncertainty();
  if (is_calibrated(counter.info) == is_calibrated(gauge.info))
    return {counter.energy.joules, gauge.energy.joules, of_counter + of_gauge};
  // Before its calibration the one was known as badly as the other still is.
  return {as_read(counter, duration), as_read(gauge, duration),
          2.0 * std::max(of_counter, of_gauge)};
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
      const Pair pair = pair_of(counter, gauge, duration);
      const Joules apart = abs(pair.counter - pair.gauge);
      const Joules greater = std::max(pair.counter, pair.gauge);
      if (apart <= pair.known || apart <= 0.1 * greater) continue;
      counter.notes.push_back(
          fmt::format("disagrees with its own gauge: {} by the counter, {} by {}; one of them is "
                      "wrong",
                      to_text(pair.counter, 3), to_text(pair.gauge, 3), gauge.info.id));
      break;
    }
  }
}

}  // namespace perjoule
