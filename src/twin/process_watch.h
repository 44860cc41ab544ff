// Processes that hold a simulated device and end without saying so: killed, or through _exit.
//
// One that ends as usual lets go of its devices in the stand-in's exit handler. For the others
// somebody must be watching, since how long a context was open decides what the device drew, and
// that must not depend on when it is next looked at. The launcher watches for as long as its
// machine is there: such an end is dated to within kWatchPeriod.
#pragma once

#include <stop_token>

#include "base/units.h"
#include "twin/world.h"

namespace perjoule::twin {

inline constexpr Seconds kWatchPeriod{0.02};

/// Whether that process has ended, be it that its parent has not heard of it yet (a zombie).
bool has_ended(int pid);

/// Lets go of every device whose process has ended. Takes the machine's lock only then.
void release_ended(World& world);

/// Does so every kWatchPeriod until stopped.
void watch_processes(const std::stop_token& stop, World& world);

}  // namespace perjoule::twin
