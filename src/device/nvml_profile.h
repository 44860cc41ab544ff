// NVIDIA's workload power profiles (drivers from 560, Blackwell): ready-made settings of the chip
// for a kind of work, requested together or alone and arbitrated by the driver.
#pragma once

#include <memory>
#include <string>

#include "device/knob.h"
#include "device/nvml_library.h"

namespace perjoule {

/// The knob "power profile" of this GPU: "none", a profile ("max-q"), or several joined by '+'.
/// Null where the driver or the chip has no profiles. Its enforced() tells which of them the driver
/// let win.
std::unique_ptr<Knob> nvml_power_profile(const std::shared_ptr<NvmlLibrary>& library,
                                         nvml::Device handle, const std::string& device_id);

}  // namespace perjoule
