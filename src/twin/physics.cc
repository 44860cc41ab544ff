#include "twin/physics.h"

#include <algorithm>

namespace perjoule::twin {

double voltage(const Silicon& chip, double clock_mhz) {
  if (clock_mhz <= chip.knee_mhz) return chip.volt_low;
  const double rise = (clock_mhz - chip.knee_mhz) / (chip.clock_max_mhz - chip.knee_mhz);
  return chip.volt_low + (chip.volt_high - chip.volt_low) * rise;
}

double static_power(const Silicon& chip, double temperature_c) {
  const double growth = 1 + chip.leakage_per_c * (temperature_c - chip.reference_c);
  return chip.static_w * std::max(growth, 0.25);
}

double device_time(const Silicon& chip, const Phase& phase, double clock_mhz) {
  const double compute = phase.flop / (chip.flop_per_s * clock_mhz / chip.clock_max_mhz);
  const double memory = phase.bytes / chip.bytes_per_s;
  return phase.overlap == Overlap::kNone ? compute + memory : std::max(compute, memory);
}

double active_power(const Silicon& chip, const Phase& phase, double clock_mhz,
                    double temperature_c) {
  const double volt = voltage(chip, clock_mhz);
  double dram = phase.dram_share;
  if (dram < 0) {
    const double time = device_time(chip, phase, clock_mhz);
    dram = time > 0 ? phase.bytes / chip.bytes_per_s / time : 0;
  }
  return static_power(chip, temperature_c) +
         (chip.clock_c + chip.activity_c * phase.activity) * clock_mhz * volt * volt +
         chip.dram_w * dram + chip.link_w * phase.link_share;
}

double idle_power(const Silicon& chip, bool context, double clock_mhz, double temperature_c) {
  const double clock = context ? clock_mhz : chip.clock_min_mhz;
  const double volt = voltage(chip, clock);
  return static_power(chip, temperature_c) * (context ? 1 : chip.deep_idle_factor) +
         chip.clock_c * clock * volt * volt;
}

SteadyState settle(const Silicon& chip, const Phase& phase, double cap_w, double temperature_c) {
  const auto power = [&](double clock) { return active_power(chip, phase, clock, temperature_c); };
  SteadyState state;
  state.clock_mhz = chip.clock_max_mhz;
  if (power(state.clock_mhz) > cap_w) {
    state.capped = true;
    double low = chip.clock_floor_mhz;
    double high = chip.clock_max_mhz;
    state.at_floor = power(low) > cap_w;
    // Power rises with the clock: bisect to well below one part in 10^12.
    for (int i = 0; i < 60 && !state.at_floor; ++i) {
      const double middle = (low + high) / 2;
      (power(middle) > cap_w ? high : low) = middle;
    }
    state.clock_mhz = low;
  }
  state.busy_s = device_time(chip, phase, state.clock_mhz);
  state.period_s = std::max(phase.host_s + state.busy_s, phase.pace_s);
  state.energy_j =
      state.busy_s * power(state.clock_mhz) +
      (state.period_s - state.busy_s) * idle_power(chip, true, state.clock_mhz, temperature_c);
  return state;
}

}  // namespace perjoule::twin
