// Field values and the buffers of past samples.
#include <algorithm>
#include <cstdlib>

#include "twin/nvml_session.h"

namespace nvml = perjoule::nvml;
using namespace perjoule::twin;           // NOLINT: the exported C names live outside
using namespace perjoule::twin::standin;  // NOLINT

namespace {

constexpr unsigned kFieldPolicyPower = 74;
constexpr unsigned kFieldPolicyBase = 81;
constexpr double kModuleCpuW = 300;  // the processor on a coherent module, as a constant

void set_unsigned(nvml::FieldValue& field, unsigned value) {
  field.value_type = nvml::kValueUnsigned;
  field.value.u32 = value;
}

void set_long(nvml::FieldValue& field, std::uint64_t value) {
  field.value_type = nvml::kValueUnsignedLongLong;
  field.value.u64 = value;
}

// Numbers of the throttle-time fields, which moved between driver releases: 251 to 253 in the
// releases 575 to 589, 269 to 271 from 590 on, none before.
bool is_throttle_time(const char* driver_version, unsigned id) {
  const int release = std::atoi(driver_version);
  if (release >= 590) return id >= 269 && id <= 271;
  return release >= 575 && id >= 251 && id <= 253;
}

// Power in a scope other than the GPU's.
nvml::Return scoped_power(const Call& call, nvml::FieldValue& field) {
  const Readings now = call.read();
  const bool average = field.field_id == nvml::kFieldPowerAverage;
  if (field.scope_id == nvml::kScopeMemory) {
    // Real parts answer the average only.
    if (!call.device.support.memory_power || !average) return nvml::kNotSupported;
    set_unsigned(field, milliwatts(call.device.silicon.dram_w *
                                   (0.2 + 0.8 * now.memory_utilization / 100.0)));
    return nvml::kSuccess;
  }
  if (!call.device.support.module_power) return nvml::kNotSupported;
  set_unsigned(field, milliwatts((average ? now.average_w : now.instant_w) + kModuleCpuW));
  return nvml::kSuccess;
}

nvml::Return power_field(const Call& call, nvml::FieldValue& field) {
  const DeviceBlock& d = call.device;
  if (!d.support.power_fields) return nvml::kNotSupported;
  if (field.scope_id > nvml::kScopeMemory) return nvml::kInvalidArgument;
  const bool power =
      field.field_id == nvml::kFieldPowerAverage || field.field_id == nvml::kFieldPowerInstant;
  if (field.scope_id != nvml::kScopeGpu) {
    return power ? scoped_power(call, field) : nvml::kNotSupported;
  }
  switch (field.field_id) {
    case nvml::kFieldPowerAverage:
      set_unsigned(field, milliwatts(call.read().average_w));
      break;
    case nvml::kFieldPowerInstant:
      set_unsigned(field, milliwatts(call.read().instant_w));
      break;
    case nvml::kFieldPowerMinLimit:
      set_unsigned(field, milliwatts(d.limit_min_w));
      break;
    case nvml::kFieldPowerMaxLimit:
      set_unsigned(field, milliwatts(d.limit_max_w));
      break;
    case nvml::kFieldPowerDefaultLimit:
      set_unsigned(field, milliwatts(d.limit_default_w));
      break;
    case nvml::kFieldPowerEnforcedLimit:
      set_unsigned(field, milliwatts(enforced_limit_w(d)));
      break;
    case nvml::kFieldPowerRequestedLimit:
      set_unsigned(field, milliwatts(d.limit_w));
      break;
    default:
      set_long(field, static_cast<std::uint64_t>(call.read().counter_mj));
      break;
  }
  return nvml::kSuccess;
}

nvml::Return read_field(const Call& call, nvml::FieldValue& field) {
  const unsigned id = field.field_id;
  if (id >= nvml::kFieldPowerAverage && id <= nvml::kFieldPowerRequestedLimit) {
    return power_field(call, field);
  }
  if (id == nvml::kFieldTotalEnergy) {
    if (!call.device.support.energy_counter) return nvml::kNotSupported;
    set_long(field, static_cast<std::uint64_t>(call.read().counter_mj));
    return nvml::kSuccess;
  }
  if (id == nvml::kFieldMemoryTemperature) {
    set_unsigned(field, static_cast<unsigned>(call.read().temperature_c + 8));
    return nvml::kSuccess;
  }
  if (id >= kFieldPolicyPower && id <= kFieldPolicyBase) {
    catch_up(call.block, call.device, Until::kMillisecond);
    const auto capped = static_cast<std::uint64_t>(call.device.simulation.capped_ns);
    set_long(field, id == kFieldPolicyPower || id >= kFieldPolicyBase - 1 ? capped : 0);
    return nvml::kSuccess;
  }
  if (is_throttle_time(call.block.driver_version, id)) {
    set_long(field, 0);
    return nvml::kSuccess;
  }
  return nvml::kNotSupported;
}

std::uint32_t sample_value(const PublishedSample& sample, const DeviceBlock& device,
                           unsigned type) {
  switch (type) {
    case nvml::kSamplesTotalPower:
      return sample.power_mw;
    case nvml::kSamplesGpuUtilization:
      return sample.utilization;
    case nvml::kSamplesMemoryUtilization:
      return sample.memory_utilization;
    case nvml::kSamplesProcessorClock:
      return sample.clock_mhz;
    case nvml::kSamplesModulePower:
      return sample.power_mw + milliwatts(kModuleCpuW);
    default:
      return static_cast<std::uint32_t>(device.memory_clock_mhz);
  }
}

bool has_samples(const DeviceBlock& device, unsigned type) {
  if (type == nvml::kSamplesModulePower) return device.support.module_power;
  return type <= nvml::kSamplesMemoryUtilization || type == nvml::kSamplesProcessorClock ||
         type == nvml::kSamplesMemoryClock;
}

}  // namespace

PJ_NVML nvmlDeviceGetFieldValues(Device device, int count, nvml::FieldValue* fields) {
  if (count < 1 || fields == nullptr) return nvml::kInvalidArgument;
  return device_call(__func__, device, [&](const Call& call) {
    nvml::Return outcome = nvml::kNotSupported;
    for (int i = 0; i < count; ++i) {
      nvml::FieldValue& field = fields[i];
      field.timestamp_us = unix_ns(call.block, now_ns(call.block)) / 1000;
      field.latency_us = 0;
      field.result = read_field(call, field);
      if (field.result == nvml::kSuccess) outcome = nvml::kSuccess;
    }
    return outcome;
  });
}
PJ_NVML nvmlDeviceClearFieldValues(Device device, int, nvml::FieldValue*) {
  return unsupported(__func__, device);
}

PJ_NVML nvmlDeviceGetSamples(Device device, unsigned type, unsigned long long last_seen_us,
                             unsigned* value_type, unsigned* count, nvml::Sample* samples) {
  if (value_type == nullptr || count == nullptr) return nvml::kInvalidArgument;
  return device_call(__func__, device, [&](const Call& call) {
    const DeviceBlock& d = call.device;
    if (!has_samples(d, type) || d.replay_count > 0) return nvml::kNotSupported;
    catch_up(call.block, call.device, Until::kMillisecond);
    *value_type = nvml::kValueUnsigned;
    if (samples == nullptr) {
      *count = kSampleRing;
      return nvml::kSuccess;
    }
    const std::uint64_t kept = std::min<std::uint64_t>(d.shown.samples, kSampleRing);
    unsigned written = 0;
    for (std::uint64_t k = d.shown.samples - kept; k < d.shown.samples && written < *count; ++k) {
      const PublishedSample& sample = d.shown.ring[k % kSampleRing];
      const auto at = static_cast<std::uint64_t>(unix_ns(call.block, sample.at_ns) / 1000);
      if (at <= last_seen_us) continue;
      samples[written].timestamp_us = at;
      samples[written].value.u64 = 0;
      samples[written++].value.u32 = sample_value(sample, d, type);
    }
    *count = written;
    return written > 0 ? nvml::kSuccess : nvml::kNotFound;
  });
}
