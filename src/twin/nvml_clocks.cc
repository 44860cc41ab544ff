// Clocks: current and highest, the lists of supported ones, locks, and why the clock is what it is.
#include <algorithm>
#include <cmath>
#include <vector>

#include "twin/nvml_session.h"

namespace nvml = perjoule::nvml;
using namespace perjoule::twin;           // NOLINT: the exported C names live outside
using namespace perjoule::twin::standin;  // NOLINT

namespace {

constexpr unsigned kSymbolTdp = 0xffffff01;        // "the base clock"
constexpr unsigned kSymbolUnlimited = 0xffffff02;  // "the highest clock"

unsigned whole(double megahertz) { return static_cast<unsigned>(std::lround(megahertz)); }

bool is_symbol(unsigned clock) { return clock == kSymbolTdp || clock == kSymbolUnlimited; }

double clock_of(const DeviceBlock& device, unsigned clock) {
  if (clock == kSymbolTdp) return device.application_default_mhz;
  if (clock == kSymbolUnlimited) return device.silicon.clock_max_mhz;
  // To the nearest clock there is.
  const Silicon& chip = device.silicon;
  const double steps = std::round((clock - chip.clock_min_mhz) / chip.clock_step_mhz);
  return std::clamp(chip.clock_min_mhz + steps * chip.clock_step_mhz, chip.clock_min_mhz,
                    chip.clock_max_mhz);
}

nvml::Return clock_now(const Call& call, unsigned type, unsigned* clock) {
  if (type > nvml::kClockVideo) return nvml::kInvalidArgument;
  const Readings now = call.read();
  *clock = type == nvml::kClockMemory  ? now.memory_clock_mhz
           : type == nvml::kClockVideo ? now.clock_mhz * 9 / 10
                                       : now.clock_mhz;
  return nvml::kSuccess;
}

nvml::Return highest_clock(const Call& call, unsigned type, unsigned* clock) {
  if (type > nvml::kClockVideo) return nvml::kInvalidArgument;
  const double highest = call.device.silicon.clock_max_mhz;
  *clock = type == nvml::kClockMemory  ? whole(call.device.memory_clock_mhz)
           : type == nvml::kClockVideo ? whole(highest * 0.9)
                                       : whole(highest);
  return nvml::kSuccess;
}

nvml::Return application_clock(const Call& call, unsigned type, bool standard, unsigned* clock) {
  if (type > nvml::kClockMemory) return nvml::kInvalidArgument;
  const DeviceBlock& d = call.device;
  if (!d.support.application_clocks) return nvml::kNotSupported;
  const bool set = d.application_mhz > 0 && !standard;
  *clock = type == nvml::kClockMemory ? whole(d.memory_clock_mhz)
                                      : whole(set ? d.application_mhz : d.application_default_mhz);
  return nvml::kSuccess;
}

template <typename Change>
nvml::Return change_clocks(const char* name, Device device, Change change) {
  return device_call(name, device, [&](const Call& call) {
    if (const nvml::Return may = call.may_set(); may != nvml::kSuccess) return may;
    catch_up(call.block, call.device, Until::kNow);
    return change(call.device);
  });
}

}  // namespace

PJ_NVML nvmlDeviceGetClockInfo(Device device, unsigned type, unsigned* clock) {
  if (clock == nullptr) return nvml::kInvalidArgument;
  return device_call(__func__, device,
                     [&](const Call& call) { return clock_now(call, type, clock); });
}
PJ_NVML nvmlDeviceGetMaxClockInfo(Device device, unsigned type, unsigned* clock) {
  if (clock == nullptr) return nvml::kInvalidArgument;
  return device_call(__func__, device,
                     [&](const Call& call) { return highest_clock(call, type, clock); });
}
PJ_NVML nvmlDeviceGetMaxCustomerBoostClock(Device device, unsigned type, unsigned* clock) {
  if (clock == nullptr) return nvml::kInvalidArgument;
  return device_call(__func__, device,
                     [&](const Call& call) { return highest_clock(call, type, clock); });
}
PJ_NVML nvmlDeviceGetClock(Device device, unsigned type, unsigned id, unsigned* clock) {
  if (clock == nullptr) return nvml::kInvalidArgument;
  return device_call(__func__, device, [&](const Call& call) {
    switch (id) {
      case nvml::kClockIdCurrent:
        return clock_now(call, type, clock);
      case nvml::kClockIdAppTarget:
        return application_clock(call, type, false, clock);
      case nvml::kClockIdAppDefault:
        return application_clock(call, type, true, clock);
      case nvml::kClockIdBoostMax:
        return highest_clock(call, type, clock);
      default:
        return nvml::kInvalidArgument;
    }
  });
}
PJ_NVML nvmlDeviceGetApplicationsClock(Device device, unsigned type, unsigned* clock) {
  if (clock == nullptr) return nvml::kInvalidArgument;
  return device_call(__func__, device,
                     [&](const Call& call) { return application_clock(call, type, false, clock); });
}
PJ_NVML nvmlDeviceGetDefaultApplicationsClock(Device device, unsigned type, unsigned* clock) {
  if (clock == nullptr) return nvml::kInvalidArgument;
  return device_call(__func__, device,
                     [&](const Call& call) { return application_clock(call, type, true, clock); });
}

PJ_NVML nvmlDeviceGetSupportedMemoryClocks(Device device, unsigned* count, unsigned* clocks) {
  return device_call(__func__, device, [&](const Call& call) {
    const unsigned only = whole(call.device.memory_clock_mhz);
    return copy_numbers(&only, 1, count, clocks);
  });
}
PJ_NVML nvmlDeviceGetSupportedGraphicsClocks(Device device, unsigned memory_clock, unsigned* count,
                                             unsigned* clocks) {
  return device_call(__func__, device, [&](const Call& call) {
    if (memory_clock != whole(call.device.memory_clock_mhz)) return nvml::kNotFound;
    const Silicon& chip = call.device.silicon;
    std::vector<unsigned> all;
    for (double f = chip.clock_max_mhz; f >= chip.clock_min_mhz - 1e-9; f -= chip.clock_step_mhz) {
      all.push_back(whole(f));
    }
    return copy_numbers(all.data(), static_cast<unsigned>(all.size()), count, clocks);
  });
}

PJ_NVML nvmlDeviceSetGpuLockedClocks(Device device, unsigned min, unsigned max) {
  return change_clocks(__func__, device, [&](DeviceBlock& d) {
    if (is_symbol(min) != is_symbol(max)) return nvml::kInvalidArgument;
    if (!is_symbol(min) && min > max) return nvml::kInvalidArgument;
    d.locked_min_mhz = clock_of(d, min);
    d.locked_max_mhz = clock_of(d, max);
    return nvml::kSuccess;
  });
}
PJ_NVML nvmlDeviceResetGpuLockedClocks(Device device) {
  return change_clocks(__func__, device, [](DeviceBlock& d) {
    d.locked_min_mhz = d.locked_max_mhz = 0;
    return nvml::kSuccess;
  });
}
PJ_NVML nvmlDeviceSetMemoryLockedClocks(Device device, unsigned min, unsigned max) {
  return change_clocks(__func__, device, [&](DeviceBlock& d) {
    if (!d.support.memory_locked_clocks) return nvml::kNotSupported;
    return min > max ? nvml::kInvalidArgument : nvml::kSuccess;
  });
}
PJ_NVML nvmlDeviceResetMemoryLockedClocks(Device device) {
  return change_clocks(__func__, device, [](DeviceBlock& d) {
    return d.support.memory_locked_clocks ? nvml::kSuccess : nvml::kNotSupported;
  });
}
PJ_NVML nvmlDeviceSetApplicationsClocks(Device device, unsigned memory, unsigned graphics) {
  return change_clocks(__func__, device, [&](DeviceBlock& d) {
    if (!d.support.application_clocks) return nvml::kNotSupported;
    const double clock = clock_of(d, graphics);
    if (memory != whole(d.memory_clock_mhz) || whole(clock) != graphics) {
      return nvml::kInvalidArgument;
    }
    d.application_mhz = clock;
    return nvml::kSuccess;
  });
}
PJ_NVML nvmlDeviceResetApplicationsClocks(Device device) {
  return change_clocks(__func__, device, [](DeviceBlock& d) {
    if (!d.support.application_clocks) return nvml::kNotSupported;
    d.application_mhz = 0;
    return nvml::kSuccess;
  });
}

PJ_NVML nvmlDeviceGetAPIRestriction(Device device, unsigned api, unsigned* restricted) {
  if (api > 1) return nvml::kInvalidArgument;
  return answer(__func__, device, restricted,
                [](const Call& call) { return call.may_set() == nvml::kNoPermission ? 1U : 0U; });
}
PJ_NVML nvmlDeviceSetAPIRestriction(Device device, unsigned api, unsigned) {
  return change_clocks(__func__, device, [&](DeviceBlock&) {
    return api > 1 ? nvml::kInvalidArgument : nvml::kSuccess;
  });
}
PJ_NVML nvmlDeviceGetAutoBoostedClocksEnabled(Device device, unsigned*, unsigned*) {
  return unsupported(__func__, device);
}
PJ_NVML nvmlDeviceGetClockOffsets(Device device, void*) { return unsupported(__func__, device); }
PJ_NVML nvmlDeviceSetClockOffsets(Device device, void*) { return unsupported(__func__, device); }

PJ_NVML nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long* reasons) {
  return answer(__func__, device, reasons, [](const Call& call) { return call.read().reasons; });
}
PJ_NVML nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* reasons) {
  return answer(__func__, device, reasons, [](const Call& call) { return call.read().reasons; });
}
PJ_NVML nvmlDeviceGetSupportedClocksEventReasons(Device device, unsigned long long* reasons) {
  return answer(__func__, device, reasons, [](const Call&) { return 0x1ffULL; });
}
PJ_NVML nvmlDeviceGetSupportedClocksThrottleReasons(Device device, unsigned long long* reasons) {
  return nvmlDeviceGetSupportedClocksEventReasons(device, reasons);
}
