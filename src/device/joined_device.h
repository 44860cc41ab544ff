// One device that several interfaces know: a CPU package's counters come from powercap and perf,
// its knobs from cpufreq. A device is listed once, with everything that is told of it.
#pragma once

#include <memory>
#include <vector>

#include "device/device.h"

namespace perjoule {

/// Adds the device, or joins it to the one of the same id: the first keeps its description, sources
/// and knobs whose ids it has already are left out of the second.
void join_device(std::vector<std::unique_ptr<Device>>& devices, std::unique_ptr<Device> device);

}  // namespace perjoule
