// `doctor --calibrate`: a source against an external meter.
#pragma once

#include <vector>

#include "cli/verb.h"

namespace perjoule::cli {

std::vector<Option> calibrate_options();

/// Fits, prints the residual, keeps the calibration. Called when --calibrate was given.
Result<int> calibrate(const Arguments& arguments);

}  // namespace perjoule::cli
