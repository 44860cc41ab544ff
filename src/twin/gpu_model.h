// The chips the twin can be: what a vendor library would say about them, how their sensors behave,
// and the parameters of their physics. The values live in one table in gpu_model.cc; their origin
// is told there and in docs/twin.md.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "twin/physics.h"
#include "twin/sensor.h"

namespace perjoule::twin {

/// Calls a generation's driver answers; where not, it says NOT_SUPPORTED.
struct Support {
  bool energy_counter = true;
  bool power_fields = false;  ///< fields 185 to 192
  bool memory_power = false;  ///< field 185 at the memory scope
  bool module_power = false;  ///< fields at the module scope (GPU + CPU)
  bool memory_locked_clocks = false;
  bool application_clocks = true;
  bool mig = false;
  bool power_profiles = false;  ///< workload power profiles
};

struct GpuModel {
  std::string_view key;   ///< "h100", as users write it
  std::string_view name;  ///< as the vendor's library writes it
  std::uint32_t architecture = 0;
  std::uint32_t cuda_major = 0;
  std::uint32_t cuda_minor = 0;
  std::uint32_t pci_device_id = 0;
  double limit_min_w = 0;
  double limit_default_w = 0;
  double limit_max_w = 0;
  double memory_clock_mhz = 0;
  double application_clock_mhz = 0;  ///< default
  std::uint64_t memory_bytes = 0;
  std::uint32_t multiprocessors = 0;
  std::uint32_t mig_slices = 0;  ///< at most this many instances
  SensorSpec sensor;
  Support support;
  Silicon silicon;
};

/// All models, oldest first.
std::span<const GpuModel> gpu_models();
/// The model of that key, in any case; the error lists what there is.
Result<const GpuModel*> find_gpu_model(std::string_view key);

}  // namespace perjoule::twin
