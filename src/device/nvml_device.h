// NVIDIA GPUs through NVML.
#pragma once

#include "device/device.h"
#include "device/roots.h"

namespace perjoule {

/// All NVIDIA GPUs that may be opened. GPUs hidden by permissions or cgroups are skipped with a
/// Problem. No library installed: nothing found and no problem, for that is how a machine without
/// such GPUs looks.
Discovered discover_nvml(const Roots& roots);

}  // namespace perjoule
