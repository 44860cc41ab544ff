#include "twin/readings.h"

#include <algorithm>
#include <cmath>

#include "device/nvml_abi.h"

namespace perjoule::twin {
namespace {

constexpr double kSlowdownTemperature = 87;

// The last sample at or before now; the first one before that.
Readings play_back(const ControlMapping& mapping, const DeviceBlock& device) {
  const ReplaySample* const first = mapping.replay() + device.replay_first;
  const ReplaySample* const end = first + device.replay_count;
  const std::int64_t now = now_ns(mapping.block());
  const ReplaySample* sample = std::upper_bound(
      first, end, now, [](std::int64_t t, const ReplaySample& s) { return t < s.at_ns; });
  if (sample != first) --sample;
  return {.counter_mj = sample->counter_mj,
          .usage_w = sample->usage_w,
          .instant_w = sample->instant_w,
          .average_w = sample->average_w,
          .utilization = sample->utilization,
          .memory_utilization = sample->memory_utilization,
          .clock_mhz = sample->clock_mhz,
          .memory_clock_mhz = sample->memory_clock_mhz,
          .temperature_c = sample->temperature_c,
          .reasons = sample->reasons};
}

std::uint64_t reasons_of(const DeviceBlock& device) {
  const Simulation& s = device.simulation;
  std::uint64_t reasons = 0;
  if (s.queued == 0) reasons |= nvml::kReasonIdle;
  if (s.queued > 0 && s.capped) reasons |= nvml::kReasonSoftwarePowerCap;
  if (ceiling_mhz(device) < device.silicon.clock_max_mhz) {
    reasons |= nvml::kReasonApplicationClocks;
  }
  if (s.temperature_c > kSlowdownTemperature) reasons |= nvml::kReasonSoftwareThermal;
  return reasons;
}

}  // namespace

Readings read_device(const ControlMapping& mapping, DeviceBlock& device) {
  if (device.replay_count > 0) return play_back(mapping, device);
  catch_up(mapping.block(), device, Until::kMillisecond);
  const bool context = device.processes[0].pid != 0;
  const double clock = context ? device.simulation.clock_mhz : device.silicon.clock_min_mhz;
  const SensorState& shown = device.shown;
  return {.counter_mj = shown.shown_counter_mj,
          .usage_w = device.sensor.usage_is_average ? shown.average_w : shown.instant_w,
          .instant_w = shown.instant_w,
          .average_w = shown.average_w,
          .utilization = shown.utilization,
          .memory_utilization = shown.memory_utilization,
          .clock_mhz = static_cast<std::uint32_t>(std::lround(clock)),
          .memory_clock_mhz = static_cast<std::uint32_t>(std::lround(device.memory_clock_mhz)),
          .temperature_c = static_cast<std::int32_t>(std::lround(device.simulation.temperature_c)),
          .reasons = reasons_of(device)};
}

}  // namespace perjoule::twin
