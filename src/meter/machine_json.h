// A machine in JSON: what its devices can tell and obey, as `perjoule devices --json` and the
// daemon say it.
#pragma once

#include <vector>

#include "base/json.h"
#include "device/discovery.h"
#include "meter/calibration.h"

namespace perjoule {

/// The calibration of a source; null where it has none.
const Calibration* find_calibration(const std::vector<Calibration>& all, const SourceInfo& source);

/// An array of the devices, each with its sources, as their calibrations leave them, and its knobs
/// with their present values. Reads every knob.
Json devices_json(const Inventory& machine, const std::vector<Calibration>& calibrations);

/// An array of what keeps devices from being measured or set.
Json problems_json(const std::vector<Problem>& problems);

}  // namespace perjoule
