// AMD's GPUs through AMD SMI, opened at run time. Its energy counter does not exist on guests.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "device/device.h"
#include "device/roots.h"

namespace perjoule {

/// GPUs whose PCI address is not among `known`.
Discovered discover_amd_smi(const Roots& roots, const Clock& clock,
                            const std::vector<std::string>& known = {});

}  // namespace perjoule
