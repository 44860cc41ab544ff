// Options that every verb which measures a command reads the same way.
#pragma once

#include "base/result.h"
#include "base/units.h"
#include "cli/verb.h"

namespace perjoule::cli {

/// --every: 0.1 ms to 1 h.
Result<Seconds> read_period(const Arguments& arguments);

}  // namespace perjoule::cli
