// Calls that clients look for and these devices do not support: performance counters (GPM),
// power smoothing and the later call for profiles. They answer so, rather than being absent.
#include "twin/nvml_session.h"

namespace nvml = perjoule::nvml;
using namespace perjoule::twin;           // NOLINT: the exported C names live outside
using namespace perjoule::twin::standin;  // NOLINT

namespace {

struct GpmSupport {
  std::uint32_t version;
  std::uint32_t supported;
};

nvml::Return without_device() {
  return current_world() == nullptr ? nvml::kUninitialized : nvml::kNotSupported;
}

}  // namespace

PJ_NVML nvmlGpmQueryDeviceSupport(Device device, GpmSupport* support) {
  if (support == nullptr) return nvml::kInvalidArgument;
  if (support->version != 1) return nvml::kArgumentVersionMismatch;
  return any_device_call(__func__, device, [&](const Call&) {
    support->supported = 0;
    return nvml::kSuccess;
  });
}
PJ_NVML nvmlGpmSampleAlloc(void**) { return without_device(); }
PJ_NVML nvmlGpmSampleFree(void*) { return without_device(); }
PJ_NVML nvmlGpmMetricsGet(void*) { return without_device(); }
PJ_NVML nvmlGpmSampleGet(Device device, void*) { return unsupported(__func__, device); }
PJ_NVML nvmlGpmMigSampleGet(Device device, unsigned, void*) {
  return unsupported(__func__, device);
}
PJ_NVML nvmlGpmQueryIfStreamingEnabled(Device device, unsigned*) {
  return unsupported(__func__, device);
}
PJ_NVML nvmlGpmSetStreamingEnabled(Device device, unsigned) {
  return unsupported(__func__, device);
}

PJ_NVML nvmlDeviceWorkloadPowerProfileUpdateProfiles_v1(Device device, void*) {
  return unsupported(__func__, device);
}
PJ_NVML nvmlDevicePowerSmoothingActivatePresetProfile(Device device, void*) {
  return unsupported(__func__, device);
}
PJ_NVML nvmlDevicePowerSmoothingUpdatePresetProfileParam(Device device, void*) {
  return unsupported(__func__, device);
}
PJ_NVML nvmlDevicePowerSmoothingSetState(Device device, void*) {
  return unsupported(__func__, device);
}
