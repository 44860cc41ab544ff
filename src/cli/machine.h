// The machine as every verb that measures or sets it sees it: found, and first put right where a
// killed process left a knob turned.
#pragma once

#include "base/clock.h"
#include "device/discovery.h"
#include "device/journal.h"

namespace perjoule::cli {

/// Discovers the machine below the roots of the environment, with the node meters that
/// PERJOULE_NODE_METERS asks for (docs/configuration.md). Nothing is asked over the network without
/// it. A meter that does not answer is a problem of the machine; a word that makes no sense is an
/// error.
Result<Inventory> look_at_machine(const Clock& clock, const DiscoveryOptions& options = {});

/// The same, with knobs that this user may not turn leased of the machine's daemon where there is
/// one (device/leased_knob.h), and puts back what dead processes left, with a line on standard
/// error for each knob and for each node meter that was asked for and does not answer. What cannot
/// be put back is a warning, no error.
Result<Inventory> find_machine(const Clock& clock, const DiscoveryOptions& options = {});

/// What was put back and what was not, a line each on standard error.
void tell(const Replay& replay);

}  // namespace perjoule::cli
