// MIG: mode, instances and the way between an instance and its device.
#include "twin/nvml_mig.h"

#include <algorithm>

#include "twin/nvml_session.h"

namespace perjoule::twin::standin {

bool has_slice(const DeviceBlock& device, int index) {
  if (device.mig_instances == 0 || index < 0 || index >= kMigIndices || index == 1) return false;
  return (index == 0 ? 0 : index - 1) < device.mig_instances;
}

std::string slice_uuid(const DeviceBlock& device, int index) {
  std::string uuid(device.uuid);
  uuid.replace(0, 3, "MIG");
  // The last group counts devices; its first digit tells instances of one device apart.
  uuid[uuid.size() - 12] = static_cast<char>('1' + index);
  return uuid;
}

std::string slice_name(const DeviceBlock& device) {
  const unsigned sevenths = slice_sevenths(device);
  const auto gigabytes = static_cast<unsigned>((device.memory_bytes >> 30U) * sevenths / 7);
  return std::string(device.name) + " MIG " + std::to_string(sevenths) + "g." +
         std::to_string(gigabytes) + "gb";
}

unsigned slice_sevenths(const DeviceBlock& device) {
  const auto whole = 7U / static_cast<unsigned>(std::max(1, device.mig_instances));
  return whole >= 7 ? 7 : std::min(whole, 3U);
}

}  // namespace perjoule::twin::standin

namespace nvml = perjoule::nvml;
using namespace perjoule::twin;           // NOLINT: the exported C names live outside
using namespace perjoule::twin::standin;  // NOLINT

PJ_NVML nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending) {
  if (current == nullptr || pending == nullptr) return nvml::kInvalidArgument;
  return device_call(__func__, device, [&](const Call& call) {
    if (!call.device.support.mig) return nvml::kNotSupported;
    *current = *pending = call.device.mig_instances > 0 ? 1 : 0;
    return nvml::kSuccess;
  });
}

PJ_NVML nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned* count) {
  return answer(__func__, device, count,
                [](const Call& call) { return call.device.mig_slices_max; });
}

PJ_NVML nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned index, Device* slice) {
  if (slice == nullptr) return nvml::kInvalidArgument;
  return device_call(__func__, device, [&](const Call& call) {
    if (!call.device.support.mig) return nvml::kNotSupported;
    if (index >= call.device.mig_slices_max) return nvml::kInvalidArgument;
    if (!has_slice(call.device, static_cast<int>(index))) return nvml::kNotFound;
    *slice = handle_of(call.handle.device, static_cast<int>(index));
    return nvml::kSuccess;
  });
}

PJ_NVML nvmlDeviceIsMigDeviceHandle(Device device, unsigned* is_slice) {
  if (is_slice == nullptr) return nvml::kInvalidArgument;
  return any_device_call(__func__, device, [&](const Call& call) {
    *is_slice = call.is_slice() ? 1 : 0;
    return nvml::kSuccess;
  });
}

PJ_NVML nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device slice, Device* device) {
  if (device == nullptr) return nvml::kInvalidArgument;
  return any_device_call(__func__, slice, [&](const Call& call) {
    if (!call.is_slice()) return nvml::kInvalidArgument;
    *device = handle_of(call.handle.device);
    return nvml::kSuccess;
  });
}

PJ_NVML nvmlDeviceGetGpuInstanceId(Device device, unsigned* id) {
  if (id == nullptr) return nvml::kInvalidArgument;
  return any_device_call(__func__, device, [&](const Call& call) {
    if (!call.is_slice()) return nvml::kNotSupported;
    *id = static_cast<unsigned>(call.handle.slice) + 1;
    return nvml::kSuccess;
  });
}

PJ_NVML nvmlDeviceGetComputeInstanceId(Device device, unsigned* id) {
  if (id == nullptr) return nvml::kInvalidArgument;
  return any_device_call(__func__, device, [&](const Call& call) {
    if (!call.is_slice()) return nvml::kNotSupported;
    *id = 0;
    return nvml::kSuccess;
  });
}

PJ_NVML nvmlDeviceGetAttributes_v2(Device device, nvml::DeviceAttributes* attributes) {
  if (attributes == nullptr) return nvml::kInvalidArgument;
  return any_device_call(__func__, device, [&](const Call& call) {
    if (!call.is_slice()) return nvml::kNotSupported;
    const unsigned sevenths = slice_sevenths(call.device);
    *attributes = {};
    attributes->multiprocessor_count = call.device.multiprocessors * sevenths / 7;
    attributes->gpu_instance_slices = sevenths;
    attributes->compute_instance_slices = sevenths;
    attributes->memory_mb = (call.device.memory_bytes >> 20U) * sevenths / 7;
    return nvml::kSuccess;
  });
}
