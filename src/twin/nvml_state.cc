// Utilisation, memory, temperature and the small print of a device's state.
#include <unistd.h>

#include <algorithm>

#include "twin/nvml_mig.h"
#include "twin/nvml_session.h"

namespace nvml = perjoule::nvml;
using namespace perjoule::twin;           // NOLINT: the exported C names live outside
using namespace perjoule::twin::standin;  // NOLINT

namespace {

constexpr std::uint64_t kReserved = 600ULL << 20U;  // of the driver itself
constexpr unsigned kShutdownTemperature = 92;
constexpr unsigned kSlowdownTemperature = 87;

struct MemoryUse {
  std::uint64_t total = 0;
  std::uint64_t used = 0;
};

MemoryUse memory_of(const Call& call) {
  MemoryUse use = {call.device.memory_bytes, 0};
  catch_up(call.block, call.device, Until::kNow);
  drop_dead_processes(call.device);
  for (const ProcessBlock& process : call.device.processes) use.used += process.memory_bytes;
  if (call.is_slice()) use.total = use.total / 7 * slice_sevenths(call.device);
  use.used = std::min(use.used, use.total - kReserved);
  return use;
}

}  // namespace

PJ_NVML nvmlDeviceGetUtilizationRates(Device device, nvml::Utilization* rates) {
  if (rates == nullptr) return nvml::kInvalidArgument;
  return device_call(__func__, device, [&](const Call& call) {
    if (call.device.mig_instances > 0) return nvml::kNotSupported;
    const Readings now = call.read();
    *rates = {now.utilization, now.memory_utilization};
    return nvml::kSuccess;
  });
}

PJ_NVML nvmlDeviceGetMemoryInfo(Device device, nvml::Memory* memory) {
  if (memory == nullptr) return nvml::kInvalidArgument;
  return any_device_call(__func__, device, [&](const Call& call) {
    const MemoryUse use = memory_of(call);
    // Version 1 counts the driver's own memory as used.
    *memory = {use.total, use.total - use.used - kReserved, use.used + kReserved};
    return nvml::kSuccess;
  });
}

PJ_NVML nvmlDeviceGetMemoryInfo_v2(Device device, nvml::MemoryV2* memory) {
  if (memory == nullptr) return nvml::kInvalidArgument;
  if (memory->version != nvml::kMemoryV2Version) return nvml::kArgumentVersionMismatch;
  return any_device_call(__func__, device, [&](const Call& call) {
    const MemoryUse use = memory_of(call);
    *memory = {nvml::kMemoryV2Version, use.total, kReserved, use.total - use.used - kReserved,
               use.used};
    return nvml::kSuccess;
  });
}

PJ_NVML nvmlDeviceGetBAR1MemoryInfo(Device device, nvml::Memory* memory) {
  if (memory == nullptr) return nvml::kInvalidArgument;
  return device_call(__func__, device, [&](const Call&) {
    *memory = {1ULL << 37U, 1ULL << 37U, 0};
    return nvml::kSuccess;
  });
}

PJ_NVML nvmlDeviceGetTemperature(Device device, unsigned sensor, unsigned* celsius) {
  if (sensor != 0) return nvml::kInvalidArgument;
  return answer(__func__, device, celsius,
                [](const Call& call) { return call.read().temperature_c; });
}

PJ_NVML nvmlDeviceGetTemperatureV(Device device, nvml::TemperatureV1* temperature) {
  if (temperature == nullptr) return nvml::kInvalidArgument;
  if (temperature->version != nvml::kTemperatureV1Version) return nvml::kArgumentVersionMismatch;
  return device_call(__func__, device, [&](const Call& call) {
    if (temperature->sensor != 0) return nvml::kInvalidArgument;
    temperature->temperature = call.read().temperature_c;
    return nvml::kSuccess;
  });
}

PJ_NVML nvmlDeviceGetTemperatureThreshold(Device device, unsigned kind, unsigned* celsius) {
  if (kind > 3) return nvml::kNotSupported;
  return answer(__func__, device, celsius, [&](const Call&) {
    return kind == 0 ? kShutdownTemperature : kSlowdownTemperature;
  });
}

PJ_NVML nvmlDeviceGetEncoderUtilization(Device device, unsigned* share, unsigned* period_us) {
  if (period_us == nullptr) return nvml::kInvalidArgument;
  *period_us = 167000;
  return answer(__func__, device, share, [](const Call&) { return 0U; });
}
PJ_NVML nvmlDeviceGetDecoderUtilization(Device device, unsigned* share, unsigned* period_us) {
  if (period_us == nullptr) return nvml::kInvalidArgument;
  *period_us = 167000;
  return answer(__func__, device, share, [](const Call&) { return 0U; });
}

// Passive data-centre boards: no fan, no display, no error counters of ours.
PJ_NVML nvmlDeviceGetFanSpeed(Device device, unsigned*) { return unsupported(__func__, device); }
PJ_NVML nvmlDeviceGetNumFans(Device device, unsigned* count) {
  return answer(__func__, device, count, [](const Call&) { return 0U; });
}
PJ_NVML nvmlDeviceGetComputeMode(Device device, unsigned* mode) {
  return answer(__func__, device, mode, [](const Call&) { return 0U; });
}
PJ_NVML nvmlDeviceGetDisplayActive(Device device, unsigned* active) {
  return answer(__func__, device, active, [](const Call&) { return 0U; });
}
PJ_NVML nvmlDeviceGetDisplayMode(Device device, unsigned* mode) {
  return answer(__func__, device, mode, [](const Call&) { return 0U; });
}
PJ_NVML nvmlDeviceGetEccMode(Device device, unsigned* current, unsigned* pending) {
  if (pending == nullptr) return nvml::kInvalidArgument;
  *pending = 1;
  return answer(__func__, device, current, [](const Call&) { return 1U; });
}
PJ_NVML nvmlDeviceGetTotalEccErrors(Device device, unsigned, unsigned, unsigned long long* count) {
  return answer(__func__, device, count, [](const Call&) { return 0ULL; });
}
PJ_NVML nvmlDeviceGetJpgUtilization(Device device, unsigned*, unsigned*) {
  return unsupported(__func__, device);
}
PJ_NVML nvmlDeviceGetOfaUtilization(Device device, unsigned*, unsigned*) {
  return unsupported(__func__, device);
}
