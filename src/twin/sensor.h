// What a device shows of its power and energy: not the truth, but the truth averaged over a window,
// published at a tick, with a gain and an offset, and in whole millijoules and milliwatts.
#pragma once

#include <cstdint>

#include "twin/simulation.h"

namespace perjoule::twin {

constexpr int kSampleRing = 120;  ///< published values kept for the sample buffers

/// How one device's sensors behave. Plain data, in memory that processes share.
struct SensorSpec {
  int tick_ms = 100;           ///< between two publications
  int tick_phase_ms = 0;       ///< of the first one
  int instant_window_ms = 25;  ///< shorter than the tick where a part of the time goes unseen
  int average_window_ms = 1000;
  bool usage_is_average = false;  ///< what the plain power reading answers
  bool counter_covers_gaps =
      true;  ///< false: the counter multiplies the windowed power by the tick
  int utilization_tick_ms = 200;
  double gain = 1;  ///< shown = gain * true + offset
  double offset_w = 0;
};

/// Ways a counter lies, in simulated nanoseconds; negative: never.
struct SensorFaults {
  std::int64_t reset_at_ns = -1;
  std::int64_t frozen_from_ns = -1;
  std::int64_t frozen_until_ns = -1;
  std::int64_t step_back_at_ns = -1;
  double step_back_mj = 0;
};

struct PublishedSample {
  std::int64_t at_ns = 0;
  std::uint32_t power_mw = 0;
  std::uint32_t utilization = 0;
  std::uint32_t memory_utilization = 0;
  std::uint32_t clock_mhz = 0;
};

/// What is published now.
struct SensorState {
  double counter_mj = 0;        ///< followed always
  double shown_counter_mj = 0;  ///< what a reader sees: differs while frozen
  double instant_w = 0;
  double average_w = 0;
  std::uint32_t utilization = 0;         ///< per cent
  std::uint32_t memory_utilization = 0;  ///< per cent
  std::int64_t published_ns = 0;
  double tick_energy_j = 0;  ///< truth at the last publication
  std::int64_t tick_ns = 0;
  std::int64_t utilization_ns = 0;  ///< of the last utilisation
  std::int64_t busy_ns = 0;         ///< the simulation's, then
  double memory_busy_s = 0;
  std::uint64_t samples = 0;  ///< ever published; sample k lies at k % kSampleRing
  PublishedSample ring[kSampleRing];
};

/// Publishes what is due; one for each device and call of advance().
class SensorTicks final : public MillisecondEnd {
 public:
  SensorTicks(const SensorSpec& spec, SensorFaults& faults, SensorState& state)
      : spec_(spec), faults_(faults), state_(state) {}
  int at(const Simulation& simulation) override;

 private:
  void publish(const Simulation& simulation);
  void count(const Simulation& simulation, double seconds);
  void publish_utilization(const Simulation& simulation);

  const SensorSpec& spec_;
  SensorFaults& faults_;
  SensorState& state_;
};

}  // namespace perjoule::twin
