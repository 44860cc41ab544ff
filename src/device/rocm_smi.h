// AMD's GPUs through ROCm SMI, AMD SMI's predecessor, opened at run time.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "device/device.h"
#include "device/roots.h"

namespace perjoule {

/// GPUs whose PCI address is not among `known`.
Discovered discover_rocm_smi(const Roots& roots, const Clock& clock,
                             const std::vector<std::string>& known = {});

}  // namespace perjoule
