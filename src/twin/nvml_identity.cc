// Initialisation, error texts, versions, enumeration and what a device is.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/file.h"
#include "base/text.h"
#include "twin/nvml_mig.h"
#include "twin/nvml_session.h"

namespace nvml = perjoule::nvml;
using namespace perjoule::twin;           // NOLINT: the exported C names live outside
using namespace perjoule::twin::standin;  // NOLINT

PJ_NVML nvmlInit_v2() { return initialise(); }
PJ_NVML nvmlInit() { return initialise(); }
PJ_NVML nvmlInitWithFlags(unsigned) { return initialise(); }
PJ_NVML nvmlShutdown() { return shut_down(); }

extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(nvml::Return code) {
  switch (code) {
    case nvml::kSuccess:
      return "Success";
    case nvml::kUninitialized:
      return "Uninitialized";
    case nvml::kInvalidArgument:
      return "Invalid Argument";
    case nvml::kNotSupported:
      return "Not Supported";
    case nvml::kNoPermission:
      return "Insufficient Permissions";
    case nvml::kAlreadyInitialized:
      return "Already Initialized";
    case nvml::kNotFound:
      return "Not Found";
    case nvml::kInsufficientSize:
      return "Insufficient Size";
    case nvml::kInsufficientPower:
      return "Insufficient External Power";
    case nvml::kDriverNotLoaded:
      return "Driver Not Loaded";
    case nvml::kTimeout:
      return "Timeout";
    case nvml::kLibraryNotFound:
      return "NVML Shared Library Not Found";
    case nvml::kFunctionNotFound:
      return "Function Not Found";
    case nvml::kGpuIsLost:
      return "GPU is lost";
    case nvml::kResetRequired:
      return "GPU requires reset";
    case nvml::kOperatingSystem:
      return "GPU access blocked by the operating system";
    case nvml::kInUse:
      return "In use by another client";
    case nvml::kMemory:
      return "Insufficient Memory";
    case nvml::kNoData:
      return "No data";
    case nvml::kArgumentVersionMismatch:
      return "Argument version mismatch";
    case nvml::kDeprecated:
      return "Deprecated";
    case nvml::kNotReady:
      return "Not Ready";
    case nvml::kGpuNotFound:
      return "GPU not found";
    case nvml::kInvalidState:
      return "Invalid state";
    default:
      return "Unknown Error";
  }
}

PJ_NVML nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return machine_call(__func__, [&](World&, ControlBlock& block) {
    // What reads it can tell that no number from here was measured, a played-back one included.
    std::string text(block.driver_version);
    if (text.find("simulated") == std::string::npos) text += "-simulated";
    return copy_text(text.c_str(), version, length);
  });
}

PJ_NVML nvmlSystemGetNVMLVersion(char* version, unsigned length) {
  return machine_call(__func__, [&](World&, ControlBlock& block) {
    return copy_text((std::string("12.") + block.driver_version).c_str(), version, length);
  });
}

PJ_NVML nvmlSystemGetCudaDriverVersion_v2(int* version) {
  if (version == nullptr) return nvml::kInvalidArgument;
  return machine_call(__func__, [&](World&, ControlBlock&) {
    *version = 12040;
    return nvml::kSuccess;
  });
}
PJ_NVML nvmlSystemGetCudaDriverVersion(int* version) {
  return nvmlSystemGetCudaDriverVersion_v2(version);
}

PJ_NVML nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length) {
  const auto command = perjoule::read_attribute("/proc/" + std::to_string(pid) + "/comm");
  if (!command) return nvml::kNotFound;
  return machine_call(
      __func__, [&](World&, ControlBlock&) { return copy_text(command->c_str(), name, length); });
}

PJ_NVML nvmlDeviceGetCount_v2(unsigned* count) {
  if (count == nullptr && current_world() != nullptr) return nvml::kInvalidArgument;
  return machine_call(__func__, [&](World&, ControlBlock& block) {
    *count = static_cast<unsigned>(block.device_count);
    return nvml::kSuccess;
  });
}
PJ_NVML nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }

PJ_NVML nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  World* const world = current_world();
  if (world == nullptr) return nvml::kUninitialized;
  if (device == nullptr || index >= static_cast<unsigned>(world->device_count())) {
    return nvml::kInvalidArgument;
  }
  const int number = static_cast<int>(index);
  *device = handle_of(number);
  return any_device_call(__func__, *device, [](const Call&) { return nvml::kSuccess; });
}
PJ_NVML nvmlDeviceGetHandleByIndex(unsigned index, Device* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

PJ_NVML nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
  if (uuid == nullptr || device == nullptr) return nvml::kInvalidArgument;
  return machine_call(__func__, [&](World&, ControlBlock& block) {
    for (int i = 0; i < block.device_count; ++i) {
      if (std::strcmp(block.devices[i].uuid, uuid) == 0) {
        *device = handle_of(i);
        return nvml::kSuccess;
      }
      for (int slice = 0; slice < kMigIndices; ++slice) {
        if (!has_slice(block.devices[i], slice)) continue;
        if (slice_uuid(block.devices[i], slice) != uuid) continue;
        *device = handle_of(i, slice);
        return nvml::kSuccess;
      }
    }
    return nvml::kNotFound;
  });
}

PJ_NVML nvmlDeviceGetHandleBySerial(const char* serial, Device* device) {
  if (serial == nullptr || device == nullptr) return nvml::kInvalidArgument;
  return machine_call(__func__, [&](World&, ControlBlock& block) {
    for (int i = 0; i < block.device_count; ++i) {
      if (std::strcmp(block.devices[i].serial, serial) != 0) continue;
      *device = handle_of(i);
      return nvml::kSuccess;
    }
    return nvml::kNotFound;
  });
}

PJ_NVML nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Device* device) {
  if (bus_id == nullptr || device == nullptr) return nvml::kInvalidArgument;
  return machine_call(__func__, [&](World&, ControlBlock& block) {
    // "[domain:]bus:device[.function]" in hexadecimal, any number of digits.
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned number = 0;
    if (std::sscanf(bus_id, "%x:%x:%x", &domain, &bus, &number) != 3) {
      domain = 0;
      if (std::sscanf(bus_id, "%x:%x", &bus, &number) != 2) return nvml::kInvalidArgument;
    }
    for (int i = 0; i < block.device_count; ++i) {
      const DeviceBlock& candidate = block.devices[i];
      if (candidate.pci_domain != domain || candidate.pci_bus != bus || number != 0) continue;
      *device = handle_of(i);
      return nvml::kSuccess;
    }
    return nvml::kNotFound;
  });
}
PJ_NVML nvmlDeviceGetHandleByPciBusId(const char* bus_id, Device* device) {
  return nvmlDeviceGetHandleByPciBusId_v2(bus_id, device);
}

PJ_NVML nvmlDeviceGetName(Device device, char* name, unsigned length) {
  return any_device_call(__func__, device, [&](const Call& call) {
    const std::string own = call.is_slice() ? slice_name(call.device) : call.device.name;
    return copy_text(own.c_str(), name, length);
  });
}

PJ_NVML nvmlDeviceGetUUID(Device device, char* uuid, unsigned length) {
  return any_device_call(__func__, device, [&](const Call& call) {
    const std::string own =
        call.is_slice() ? slice_uuid(call.device, call.handle.slice) : call.device.uuid;
    return copy_text(own.c_str(), uuid, length);
  });
}

PJ_NVML nvmlDeviceGetSerial(Device device, char* serial, unsigned length) {
  return device_call(__func__, device, [&](const Call& call) {
    return copy_text(call.device.serial, serial, length);
  });
}

PJ_NVML nvmlDeviceGetIndex(Device device, unsigned* index) {
  return answer(__func__, device, index, [](const Call& call) { return call.handle.device; });
}
PJ_NVML nvmlDeviceGetMinorNumber(Device device, unsigned* minor) {
  return answer(__func__, device, minor, [](const Call& call) { return call.device.minor; });
}
PJ_NVML nvmlDeviceGetModuleId(Device device, unsigned* id) {
  return answer(__func__, device, id, [](const Call& call) { return call.handle.device + 1; });
}
PJ_NVML nvmlDeviceGetBoardId(Device device, unsigned* id) {
  return answer(__func__, device, id, [](const Call& call) { return call.device.pci_bus << 8U; });
}
PJ_NVML nvmlDeviceGetArchitecture(Device device, unsigned* architecture) {
  return answer(__func__, device, architecture,
                [](const Call& call) { return call.device.architecture; });
}
PJ_NVML nvmlDeviceGetBrand(Device device, unsigned* brand) {
  constexpr unsigned kTesla = 2;
  constexpr unsigned kNvidia = 14;
  return answer(__func__, device, brand, [](const Call& call) {
    return call.device.architecture == nvml::kArchitectureVolta ? kTesla : kNvidia;
  });
}
PJ_NVML nvmlDeviceGetNumGpuCores(Device device, unsigned* cores) {
  return answer(__func__, device, cores, [](const Call& call) {
    return call.device.multiprocessors *
           (call.device.architecture == nvml::kArchitectureVolta ? 64U : 128U);
  });
}

PJ_NVML nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor) {
  if (major == nullptr || minor == nullptr) return nvml::kInvalidArgument;
  return any_device_call(__func__, device, [&](const Call& call) {
    *major = static_cast<int>(call.device.cuda_major);
    *minor = static_cast<int>(call.device.cuda_minor);
    return nvml::kSuccess;
  });
}

PJ_NVML nvmlDeviceGetPciInfo_v3(Device device, nvml::PciInfo* info) {
  if (info == nullptr) return nvml::kInvalidArgument;
  return device_call(__func__, device, [&](const Call& call) {
    const DeviceBlock& d = call.device;
    *info = nvml::PciInfo{};
    // The legacy field holds a 4-digit domain, the other 8 digits; sysfs has 4, in lower case.
    std::snprintf(info->bus_id_legacy, sizeof info->bus_id_legacy, "%04X:%02X:00.0",
                  d.pci_domain & 0xffffU, d.pci_bus & 0xffU);
    std::snprintf(info->bus_id, sizeof info->bus_id, "%08X:%02X:00.0", d.pci_domain,
                  d.pci_bus & 0xffU);
    info->domain = d.pci_domain;
    info->bus = d.pci_bus;
    info->pci_device_id = d.pci_device_id;
    info->pci_subsystem_id = 0x16C110DE;
    return nvml::kSuccess;
  });
}
PJ_NVML nvmlDeviceGetPciInfo_v2(Device device, nvml::PciInfo* info) {
  return nvmlDeviceGetPciInfo_v3(device, info);
}
// The first version ends before the long bus id.
PJ_NVML nvmlDeviceGetPciInfo(Device device, void* info) {
  nvml::PciInfo whole;
  if (info == nullptr) return nvml::kInvalidArgument;
  const nvml::Return code = nvmlDeviceGetPciInfo_v3(device, &whole);
  if (code == nvml::kSuccess) std::memcpy(info, &whole, offsetof(nvml::PciInfo, bus_id));
  return code;
}

PJ_NVML nvmlDeviceGetVbiosVersion(Device device, char* version, unsigned length) {
  return device_call(__func__, device,
                     [&](const Call&) { return copy_text("96.00.5E.00.01", version, length); });
}
PJ_NVML nvmlDeviceGetBoardPartNumber(Device device, char*, unsigned) {
  return unsupported(__func__, device);
}
PJ_NVML nvmlDeviceGetInforomImageVersion(Device device, char*, unsigned) {
  return unsupported(__func__, device);
}
