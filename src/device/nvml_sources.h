// What an NVIDIA GPU tells about its power: the energy counter where it exists (Volta and later),
// power gauges (present, averaged, memory), and how far each can be believed by generation.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/nvml_library.h"
#include "device/source.h"

namespace perjoule {

/// The sensor's habits by generation (update period, averaging window and share of time covered),
/// from public measurements of 70 GPUs; see docs/sources.md.
struct NvmlSensor {
  Seconds tick;
  Seconds averaging;  ///< of nvmlDeviceGetPowerUsage
  double coverage;
  Seconds instant_averaging;  ///< of field 186
  double instant_coverage;
};
NvmlSensor nvml_sensor_of(unsigned architecture, const std::string& name);

/// Makes the sources of one GPU, the one to sum first. Empty when the GPU tells nothing (vGPU, very
/// old).
std::vector<std::unique_ptr<Source>> nvml_sources(const std::shared_ptr<NvmlLibrary>& library,
                                                  nvml::Device handle, const std::string& device_id,
                                                  const std::string& name);

/// A power field (185 average, 186 instant) of a scope, when the driver answers it.
Result<Watts> nvml_power_field(const NvmlLibrary& library, nvml::Device handle, unsigned field,
                               unsigned scope);

}  // namespace perjoule
