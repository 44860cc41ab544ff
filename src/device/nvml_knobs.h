// What an NVIDIA GPU obeys: power limit, locked graphics clock, locked memory clock, and
// workload power profile.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/knob.h"
#include "device/nvml_library.h"

namespace perjoule {

/// The knobs this GPU and driver have, whether or not we may turn them.
std::vector<std::unique_ptr<Knob>> nvml_knobs(const std::shared_ptr<NvmlLibrary>& library,
                                              nvml::Device handle, const std::string& device_id);

/// Graphics clocks that can be locked at the highest memory clock, highest first. Empty when
/// unknown.
std::vector<unsigned> nvml_graphics_clocks(const NvmlLibrary& library, nvml::Device handle);

}  // namespace perjoule
