// NVIDIA's management library as a table of functions, opened at run time. A null pointer means
// that this driver does not have the function: feature absent, never an error. The unversioned
// names of the C header are macros, so the suffixed symbols are loaded.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/shared_library.h"
#include "device/nvml_abi.h"

namespace perjoule {

/// What an NVML return code means to us, in our codes.
ErrorCode code_of_nvml(nvml::Return code) noexcept;

class NvmlLibrary {
 public:
  /// Opens and initialises. not_found when the library is not installed.
  static Result<std::shared_ptr<NvmlLibrary>> open(const std::string& path);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  /// "what: the library's own words"; with the remedy for a missing permission.
  tl::unexpected<Error> error(nvml::Return code, const std::string& what) const;
  const std::string& driver_version() const { return driver_version_; }
  /// The twin's stand-in says so in its driver version; nothing else here depends on it.
  bool simulated() const { return driver_version_.find("simulated") != std::string::npos; }

  template <typename... Arguments>
  using Function = nvml::Return (*)(Arguments...);
  using Device = nvml::Device;

  Function<> shutdown = nullptr;
  const char* (*error_string)(nvml::Return) = nullptr;
  Function<char*, unsigned> system_driver_version = nullptr;
  Function<unsigned*> device_count = nullptr;
  Function<unsigned, Device*> device_by_index = nullptr;
  Function<Device, char*, unsigned> device_name = nullptr;
  Function<Device, char*, unsigned> device_uuid = nullptr;
  Function<Device, nvml::PciInfo*> device_pci = nullptr;
  Function<Device, unsigned*> device_architecture = nullptr;
  Function<Device, unsigned*> device_power = nullptr;
  Function<Device, unsigned long long*> device_energy = nullptr;
  Function<Device, unsigned*> power_limit = nullptr;
  Function<Device, unsigned*> power_limit_default = nullptr;
  Function<Device, unsigned*, unsigned*> power_limit_range = nullptr;
  Function<Device, unsigned*> power_limit_enforced = nullptr;
  Function<Device, unsigned> set_power_limit = nullptr;
  Function<Device, unsigned, unsigned> lock_clocks = nullptr;
  Function<Device> unlock_clocks = nullptr;
  Function<Device, unsigned, unsigned> lock_memory_clocks = nullptr;
  Function<Device> unlock_memory_clocks = nullptr;
  Function<Device, unsigned*, unsigned*> memory_clocks = nullptr;
  Function<Device, unsigned, unsigned*, unsigned*> graphics_clocks = nullptr;
  Function<Device, unsigned, unsigned*> clock_now = nullptr;
  Function<Device, unsigned, unsigned*> clock_max = nullptr;
  Function<Device, nvml::Utilization*> utilization = nullptr;
  Function<Device, unsigned, unsigned*> temperature = nullptr;
  Function<Device, nvml::TemperatureV1*> temperature_v = nullptr;
  Function<Device, nvml::Memory*> memory = nullptr;
  Function<Device, unsigned long long*> event_reasons = nullptr;
  Function<Device, int, nvml::FieldValue*> field_values = nullptr;
  Function<Device, unsigned*, void*> compute_processes_v3 = nullptr;
  Function<Device, unsigned*, void*> compute_processes_v2 = nullptr;
  Function<Device, unsigned*, void*> compute_processes_v1 = nullptr;
  Function<Device, nvml::ProcessUtilizationSample*, unsigned*, unsigned long long>
      process_utilization = nullptr;
  Function<Device, unsigned*, unsigned*> mig_mode = nullptr;
  Function<Device, unsigned*> mig_count = nullptr;
  Function<Device, unsigned, Device*> mig_device = nullptr;
  Function<Device, unsigned*> persistence = nullptr;
  Function<Device, nvml::ProfilesInfo*> profiles_info = nullptr;
  Function<Device, nvml::CurrentProfiles*> current_profiles = nullptr;
  Function<Device, nvml::RequestedProfiles*> request_profiles = nullptr;
  Function<Device, nvml::RequestedProfiles*> clear_profiles = nullptr;

 private:
  explicit NvmlLibrary(SharedLibrary library) : library_(std::move(library)) {}
  void load_functions();

  SharedLibrary library_;
  std::string driver_version_;
};

}  // namespace perjoule
