// What a client may see of a device now: from the simulated sensors, or from a recording.
#pragma once

#include <cstdint>

#include "twin/control_block.h"

namespace perjoule::twin {

struct Readings {
  double counter_mj = 0;
  double usage_w = 0;  ///< what the plain power call answers
  double instant_w = 0;
  double average_w = 0;
  std::uint32_t utilization = 0;
  std::uint32_t memory_utilization = 0;
  std::uint32_t clock_mhz = 0;
  std::uint32_t memory_clock_mhz = 0;
  std::int32_t temperature_c = 0;
  std::uint64_t reasons = 0;  ///< clock event reasons, NVML's bits
};

/// To be called with the lock held; brings the device up to now.
Readings read_device(const ControlMapping& mapping, DeviceBlock& device);

}  // namespace perjoule::twin
