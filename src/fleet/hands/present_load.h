// A forecast that other days make, where what comes now is more than they had.
//
//   const auto forecast = at_least_present(std::move(learnt));
//   forecast->observe(now, loads);
//   forecast->peak(now, now + Seconds(1800));   // no less than `loads`
#pragma once

#include <memory>

#include "fleet/control/load_forecast.h"

namespace perjoule {

/// What was learnt, and of each class the load that was observed last where that is more. O(that of
/// `learnt`).
std::unique_ptr<LoadForecast> at_least_present(std::unique_ptr<LoadForecast> learnt);

}  // namespace perjoule
