// The machine as every verb that measures or sets it sees it: found, and first put right where a
// killed process left a knob turned.
#pragma once

#include "base/clock.h"
#include "device/discovery.h"
#include "device/journal.h"

namespace perjoule::cli {

/// Discovers the machine below the roots of the environment and puts back what dead processes left,
/// with a line on standard error for each knob. What cannot be put back is a warning, no error.
Inventory find_machine(const Clock& clock, const DiscoveryOptions& options = {});

/// What was put back and what was not, a line each on standard error.
void tell(const Replay& replay);

}  // namespace perjoule::cli
