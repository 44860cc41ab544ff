// A measurement as the JSON document "perjoule.measurement.v1"; a run's document (docs/formats.md)
// contains it.
#pragma once

#include "base/json.h"
#include "meter/attribution.h"
#include "meter/measurement.h"

namespace perjoule {

/// name, begin, duration, sync verdict, total, sources with their budgets and notes.
Json to_json(const Measurement& measurement);
/// The parts of a budget that are not nothing, in joules, one sigma.
Json to_json(const UncertaintyBudget& budget);
Json to_json(const std::vector<Attributed>& parts);

}  // namespace perjoule
