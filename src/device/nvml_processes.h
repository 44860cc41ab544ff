// NVML's process lists, whose rows are 16, 24 or 32 bytes long under overlapping symbol names. The
// stride is found by what the driver writes into a buffer of sentinels, never assumed.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "device/device.h"
#include "device/nvml_library.h"

namespace perjoule {

constexpr unsigned char kProcessSentinel = 0xA5;

/// The row length with which `count` rows were written at the start of a buffer filled with the
/// sentinel; 0 when no known layout fits. O(bytes).
std::size_t probe_process_stride(std::span<const unsigned char> buffer, unsigned count);

/// Processes with memory and, where the driver has it, their share of the GPU's time in the last
/// second.
Result<std::vector<DeviceProcess>> nvml_processes(const NvmlLibrary& library, nvml::Device handle,
                                                  const std::string& device_id);

}  // namespace perjoule
