// Power, energy and limits.
#include <cmath>

#include "twin/nvml_session.h"

namespace nvml = perjoule::nvml;
using namespace perjoule::twin;           // NOLINT: the exported C names live outside
using namespace perjoule::twin::standin;  // NOLINT

namespace {

nvml::Return set_limit(const Call& call, unsigned limit_mw) {
  if (const nvml::Return may = call.may_set(); may != nvml::kSuccess) return may;
  const double limit = limit_mw * 1e-3;
  if (limit < call.device.limit_min_w || limit > call.device.limit_max_w) {
    return nvml::kInvalidArgument;
  }
  catch_up(call.block, call.device, Until::kNow);
  call.device.limit_w = limit;
  return nvml::kSuccess;
}

}  // namespace

PJ_NVML nvmlDeviceGetPowerUsage(Device device, unsigned* power_mw) {
  return answer(__func__, device, power_mw,
                [](const Call& call) { return milliwatts(call.read().usage_w); });
}

PJ_NVML nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long* energy_mj) {
  if (energy_mj == nullptr) return nvml::kInvalidArgument;
  return device_call(__func__, device, [&](const Call& call) {
    if (!call.device.support.energy_counter) return nvml::kNotSupported;
    *energy_mj = static_cast<unsigned long long>(call.read().counter_mj);
    return nvml::kSuccess;
  });
}

PJ_NVML nvmlDeviceGetPowerManagementMode(Device device, unsigned* mode) {
  return answer(__func__, device, mode, [](const Call&) { return 1U; });
}
PJ_NVML nvmlDeviceGetPowerManagementLimit(Device device, unsigned* limit_mw) {
  return answer(__func__, device, limit_mw,
                [](const Call& call) { return milliwatts(call.device.limit_w); });
}
PJ_NVML nvmlDeviceGetPowerManagementDefaultLimit(Device device, unsigned* limit_mw) {
  return answer(__func__, device, limit_mw,
                [](const Call& call) { return milliwatts(call.device.limit_default_w); });
}
PJ_NVML nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned* limit_mw) {
  return answer(__func__, device, limit_mw,
                [](const Call& call) { return milliwatts(enforced_limit_w(call.device)); });
}
PJ_NVML nvmlDeviceGetPowerManagementLimitConstraints(Device device, unsigned* min_mw,
                                                     unsigned* max_mw) {
  if (min_mw == nullptr || max_mw == nullptr) return nvml::kInvalidArgument;
  return device_call(__func__, device, [&](const Call& call) {
    *min_mw = milliwatts(call.device.limit_min_w);
    *max_mw = milliwatts(call.device.limit_max_w);
    return nvml::kSuccess;
  });
}

PJ_NVML nvmlDeviceSetPowerManagementLimit(Device device, unsigned limit_mw) {
  return device_call(__func__, device, [&](const Call& call) { return set_limit(call, limit_mw); });
}
PJ_NVML nvmlDeviceSetPowerManagementLimit_v2(Device device, nvml::PowerValueV2* value) {
  if (value == nullptr) return nvml::kInvalidArgument;
  if (value->version != nvml::kPowerValueV2Version) return nvml::kArgumentVersionMismatch;
  return device_call(__func__, device, [&](const Call& call) {
    if (value->scope != nvml::kScopeGpu) return nvml::kNotSupported;
    return set_limit(call, value->power_mw);
  });
}

PJ_NVML nvmlDeviceGetPersistenceMode(Device device, unsigned* mode) {
  return answer(__func__, device, mode, [](const Call& call) { return call.device.persistence; });
}
PJ_NVML nvmlDeviceSetPersistenceMode(Device device, unsigned mode) {
  return device_call(__func__, device, [&](const Call& call) {
    if (mode > 1) return nvml::kInvalidArgument;
    if (const nvml::Return may = call.may_set(); may != nvml::kSuccess) return may;
    call.device.persistence = static_cast<int>(mode);
    return nvml::kSuccess;
  });
}

PJ_NVML nvmlDeviceGetPowerState(Device device, int* state) {
  return answer(__func__, device, state, [](const Call& call) {
    return call.device.simulation.queued > 0 || call.device.processes[0].pid != 0 ? 0 : 8;
  });
}
PJ_NVML nvmlDeviceGetPerformanceState(Device device, int* state) {
  return nvmlDeviceGetPowerState(device, state);
}

PJ_NVML nvmlDeviceGetViolationStatus(Device device, unsigned policy, nvml::ViolationTime* time) {
  if (time == nullptr) return nvml::kInvalidArgument;
  constexpr unsigned kPolicyPower = 0;
  constexpr unsigned kPolicyTotalBase = 11;
  if (policy > kPolicyTotalBase || (policy > 5 && policy < 10)) return nvml::kInvalidArgument;
  return device_call(__func__, device, [&](const Call& call) {
    catch_up(call.block, call.device, Until::kMillisecond);
    const auto capped = static_cast<std::uint64_t>(call.device.simulation.capped_ns);
    time->reference_us = static_cast<std::uint64_t>(unix_ns(call.block, now_ns(call.block)) / 1000);
    time->violation_ns = policy == kPolicyPower || policy >= 10 ? capped : 0;
    return nvml::kSuccess;
  });
}
