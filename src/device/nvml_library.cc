#include "device/nvml_library.h"

#include <fmt/format.h>

namespace perjoule {

ErrorCode code_of_nvml(nvml::Return code) noexcept {
  switch (code) {
    case nvml::kSuccess:
      return ErrorCode::kOk;
    case nvml::kInvalidArgument:
    case nvml::kArgumentVersionMismatch:
      return ErrorCode::kInvalidArgument;
    case nvml::kNotSupported:
    case nvml::kFunctionNotFound:
    case nvml::kDeprecated:
      return ErrorCode::kNotSupported;
    case nvml::kNoPermission:
    case nvml::kOperatingSystem:
      return ErrorCode::kPermissionDenied;
    case nvml::kNotFound:
    case nvml::kNoData:
      return ErrorCode::kNotFound;
    case nvml::kTimeout:
      return ErrorCode::kTimeout;
    case nvml::kInUse:
      return ErrorCode::kConflict;
    default:
      return ErrorCode::kUnavailable;  // lost, reset required, driver not loaded, not ready
  }
}

void NvmlLibrary::load_functions() {
  const SharedLibrary& l = library_;
  const auto load = [&l](auto& pointer, const char* symbol) { l.load(pointer, symbol); };
  load(shutdown, "nvmlShutdown");
  load(error_string, "nvmlErrorString");
  load(system_driver_version, "nvmlSystemGetDriverVersion");
  load(device_count, "nvmlDeviceGetCount_v2");
  load(device_by_index, "nvmlDeviceGetHandleByIndex_v2");
  load(device_name, "nvmlDeviceGetName");
  load(device_uuid, "nvmlDeviceGetUUID");
  load(device_pci, "nvmlDeviceGetPciInfo_v3");
  load(device_architecture, "nvmlDeviceGetArchitecture");
  load(device_power, "nvmlDeviceGetPowerUsage");
  load(device_energy, "nvmlDeviceGetTotalEnergyConsumption");
  load(power_limit, "nvmlDeviceGetPowerManagementLimit");
  load(power_limit_default, "nvmlDeviceGetPowerManagementDefaultLimit");
  load(power_limit_range, "nvmlDeviceGetPowerManagementLimitConstraints");
  load(power_limit_enforced, "nvmlDeviceGetEnforcedPowerLimit");
  load(set_power_limit, "nvmlDeviceSetPowerManagementLimit");
  load(lock_clocks, "nvmlDeviceSetGpuLockedClocks");
  load(unlock_clocks, "nvmlDeviceResetGpuLockedClocks");
  load(lock_memory_clocks, "nvmlDeviceSetMemoryLockedClocks");
  load(unlock_memory_clocks, "nvmlDeviceResetMemoryLockedClocks");
  load(memory_clocks, "nvmlDeviceGetSupportedMemoryClocks");
  load(graphics_clocks, "nvmlDeviceGetSupportedGraphicsClocks");
  load(clock_now, "nvmlDeviceGetClockInfo");
  load(clock_max, "nvmlDeviceGetMaxClockInfo");
  load(utilization, "nvmlDeviceGetUtilizationRates");
  load(temperature, "nvmlDeviceGetTemperature");
  load(temperature_v, "nvmlDeviceGetTemperatureV");
  load(memory, "nvmlDeviceGetMemoryInfo");
  load(event_reasons, "nvmlDeviceGetCurrentClocksEventReasons");
  if (event_reasons == nullptr) load(event_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  load(field_values, "nvmlDeviceGetFieldValues");
  load(compute_processes_v3, "nvmlDeviceGetComputeRunningProcesses_v3");
  load(compute_processes_v2, "nvmlDeviceGetComputeRunningProcesses_v2");
  load(compute_processes_v1, "nvmlDeviceGetComputeRunningProcesses");
  load(process_utilization, "nvmlDeviceGetProcessUtilization");
  load(mig_mode, "nvmlDeviceGetMigMode");
  load(mig_count, "nvmlDeviceGetMaxMigDeviceCount");
  load(mig_device, "nvmlDeviceGetMigDeviceHandleByIndex");
  load(persistence, "nvmlDeviceGetPersistenceMode");
  load(profiles_info, "nvmlDeviceWorkloadPowerProfileGetProfilesInfo");
  load(current_profiles, "nvmlDeviceWorkloadPowerProfileGetCurrentProfiles");
  load(request_profiles, "nvmlDeviceWorkloadPowerProfileSetRequestedProfiles");
  load(clear_profiles, "nvmlDeviceWorkloadPowerProfileClearRequestedProfiles");
}

Result<std::shared_ptr<NvmlLibrary>> NvmlLibrary::open(const std::string& path) {
  PJ_TRY(SharedLibrary opened, SharedLibrary::open(path));
  std::shared_ptr<NvmlLibrary> library(new NvmlLibrary(std::move(opened)));
  library->load_functions();
  Function<> init = nullptr;
  library->library_.load(init, "nvmlInit_v2");
  if (init == nullptr || library->device_count == nullptr || library->device_by_index == nullptr) {
    library->shutdown = nullptr;
    return Error::not_supported(path + ": lacks nvmlInit_v2 or the device list",
                                "update the NVIDIA driver");
  }
  if (const nvml::Return code = init(); code != nvml::kSuccess) {
    auto failed = library->error(code, "starting NVML");
    library->shutdown = nullptr;
    return failed;
  }
  char text[96] = {};
  if (library->system_driver_version != nullptr &&
      library->system_driver_version(text, sizeof(text)) == nvml::kSuccess) {
    library->driver_version_ = text;
  }
  return library;
}

NvmlLibrary::~NvmlLibrary() {
  if (shutdown != nullptr) shutdown();
}

tl::unexpected<Error> NvmlLibrary::error(nvml::Return code, const std::string& what) const {
  const char* words = error_string != nullptr ? error_string(code) : nullptr;
  std::string message = words != nullptr ? fmt::format("{}: {}", what, words)
                                         : fmt::format("{}: NVML code {}", what, code);
  Error error{code_of_nvml(code), std::move(message), {}};
  if (code == nvml::kNoPermission) {
    error.remedy = "setting a GPU needs root, and CAP_SYS_ADMIN in a container";
  } else if (code == nvml::kDriverNotLoaded) {
    error.remedy = "load the NVIDIA driver: modprobe nvidia";
  } else if (code == nvml::kGpuIsLost || code == nvml::kResetRequired) {
    error.remedy = "the GPU fell off the bus or needs a reset; see dmesg for the Xid";
  }
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace perjoule
