// A forecast for fleets of which no other days are known: what came lately comes again.
//
//   const auto forecast = recent_load(Seconds(1800));
//   forecast->observe(now, loads);
//   forecast->peak(now, now + Seconds(1800));      // the highest of the last half an hour
#pragma once

#include <memory>

#include "fleet/control/load_forecast.h"

namespace perjoule {

/// The highest load of each class within the last `memory`; 0 before the first was observed. A
/// load that rises is followed late: by as long as a server takes to start. O(observations).
std::unique_ptr<LoadForecast> recent_load(Seconds memory);

}  // namespace perjoule
