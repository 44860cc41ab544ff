#include "twin/sensor.h"

#include <algorithm>
#include <cmath>

namespace perjoule::twin {
namespace {

// Milliseconds until the next multiple of `period` past `phase`, from 1 to period.
int until_due(std::int64_t ms, int period, int phase) {
  const auto past = static_cast<int>(((ms - phase) % period + period) % period);
  return period - past;
}

bool due(std::int64_t ms, int period, int phase) { return until_due(ms, period, phase) == period; }

std::uint32_t per_cent(double share) {
  return static_cast<std::uint32_t>(std::lround(std::clamp(share, 0.0, 1.0) * 100));
}

}  // namespace

int SensorTicks::at(const Simulation& simulation) {
  const std::int64_t ms = simulation.now_ns / kNsPerMs;
  if (due(ms, spec_.utilization_tick_ms, 0)) publish_utilization(simulation);
  if (due(ms, spec_.tick_ms, spec_.tick_phase_ms)) publish(simulation);
  return std::min(until_due(ms, spec_.tick_ms, spec_.tick_phase_ms),
                  until_due(ms, spec_.utilization_tick_ms, 0)) -
         1;
}

void SensorTicks::publish(const Simulation& simulation) {
  const double seconds = static_cast<double>(simulation.now_ns - state_.tick_ns) * 1e-9;
  const auto shown = [&](double watts) {
    return std::max(0.0, spec_.gain * watts + spec_.offset_w);
  };
  count(simulation, seconds);
  state_.tick_ns = simulation.now_ns;
  state_.tick_energy_j = simulation.energy_j;
  const bool frozen = faults_.frozen_from_ns >= 0 && simulation.now_ns >= faults_.frozen_from_ns &&
                      (faults_.frozen_until_ns < 0 || simulation.now_ns < faults_.frozen_until_ns);
  if (frozen) return;
  state_.shown_counter_mj = state_.counter_mj;
  state_.instant_w = shown(mean_power(simulation, spec_.instant_window_ms));
  state_.average_w = shown(mean_power(simulation, spec_.average_window_ms));
  state_.published_ns = simulation.now_ns;
  const double usage = spec_.usage_is_average ? state_.average_w : state_.instant_w;
  state_.ring[state_.samples++ % kSampleRing] = PublishedSample{
      simulation.now_ns, static_cast<std::uint32_t>(std::lround(usage * 1e3)), state_.utilization,
      state_.memory_utilization, static_cast<std::uint32_t>(std::lround(simulation.clock_mhz))};
}

void SensorTicks::count(const Simulation& simulation, double seconds) {
  const double joules = spec_.counter_covers_gaps
                            ? simulation.energy_j - state_.tick_energy_j
                            : mean_power(simulation, spec_.instant_window_ms) * seconds;
  state_.counter_mj += std::max(0.0, spec_.gain * joules + spec_.offset_w * seconds) * 1e3;
  // A fault fires once, at the first tick at or after its time.
  if (faults_.reset_at_ns >= 0 && simulation.now_ns >= faults_.reset_at_ns) {
    state_.counter_mj = 0;
    faults_.reset_at_ns = -1;
  }
  if (faults_.step_back_at_ns >= 0 && simulation.now_ns >= faults_.step_back_at_ns) {
    state_.counter_mj = std::max(0.0, state_.counter_mj - faults_.step_back_mj);
    faults_.step_back_at_ns = -1;
  }
}

void SensorTicks::publish_utilization(const Simulation& simulation) {
  const double seconds = static_cast<double>(simulation.now_ns - state_.utilization_ns) * 1e-9;
  if (seconds <= 0) return;
  const auto busy = static_cast<double>(simulation.busy_ns - state_.busy_ns) * 1e-9;
  state_.utilization = per_cent(busy / seconds);
  state_.memory_utilization = per_cent((simulation.memory_busy_s - state_.memory_busy_s) / seconds);
  state_.utilization_ns = simulation.now_ns;
  state_.busy_ns = simulation.busy_ns;
  state_.memory_busy_s = simulation.memory_busy_s;
}

}  // namespace perjoule::twin
