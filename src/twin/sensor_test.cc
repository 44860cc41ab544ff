#include "twin/sensor.h"

#include <gtest/gtest.h>

#include <memory>

#include "twin/gpu_model.h"

namespace perjoule::twin {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

struct Device {
  explicit Device(const char* key) {
    const GpuModel& model = **find_gpu_model(key);
    silicon = model.silicon;
    spec = model.sensor;
    begin(simulation, silicon, silicon.reference_c);
    controls = {.cap_w = 1e9, .ceiling_mhz = silicon.clock_max_mhz, .context = true};
  }
  void to(std::int64_t ns) {
    SensorTicks ticks(spec, faults, state);
    advance(simulation, silicon, controls, ns, &ticks);
  }
  Silicon silicon;
  SensorSpec spec;
  SensorFaults faults;
  SensorState state;
  Simulation simulation;
  Controls controls;
};

TEST(Sensor, CounterMovesOnlyAtTicksAndThenEqualsTheTruth) {
  auto d = std::make_unique<Device>("h100");
  post(d->simulation, {.flop = 1e20, .activity = 0.5}, 1);
  d->to(10 * kSecond);
  const double truth = d->simulation.energy_j * 1e3;
  EXPECT_NEAR(d->state.shown_counter_mj, truth, truth * 1e-9);
  d->to(10 * kSecond + 99 * kNsPerMs);
  EXPECT_NEAR(d->state.shown_counter_mj, truth, truth * 1e-9);
  d->to(10 * kSecond + 100 * kNsPerMs);
  EXPECT_NEAR(d->state.shown_counter_mj, d->simulation.energy_j * 1e3, 1e-3);
}

TEST(Sensor, GainAndOffset) {
  auto d = std::make_unique<Device>("v100");
  d->spec.gain = 0.95;
  d->spec.offset_w = 4;
  post(d->simulation, {.flop = 1e20, .activity = 0.5}, 1);
  d->to(2 * kSecond);
  const double joules = d->simulation.energy_j;
  EXPECT_NEAR(d->state.shown_counter_mj, (0.95 * joules + 4 * 2) * 1e3, 1e-3);
  EXPECT_NEAR(d->state.instant_w, 0.95 * mean_power(d->simulation, 10) + 4, 1e-6);
}

// A square wave of 50 ms on and 50 ms off in step with a 100 ms tick: a sensor that sees 25 ms of
// it is fooled, the counter is not.
TEST(Sensor, ShortWindowAliasesWhereTheCounterDoesNot) {
  auto d = std::make_unique<Device>("h100");
  const Phase half{.flop = 989e12 * 0.05, .activity = 1, .pace_s = 0.1};
  for (int i = 0; i < 16; ++i) post(d->simulation, half, 1);
  d->to(1'600'000'000);
  const double true_mean = d->simulation.energy_j / 1.6;
  EXPECT_LT(d->state.instant_w, 0.5 * true_mean);  // looks into the gap each time
  EXPECT_NEAR(d->state.average_w, mean_power(d->simulation, 1000), 1e-6);
  EXPECT_NEAR(d->state.shown_counter_mj / 1600, true_mean, true_mean * 1e-6);
  d = std::make_unique<Device>("h100");
  d->spec.counter_covers_gaps = false;
  for (int i = 0; i < 16; ++i) post(d->simulation, half, 1);
  d->to(1'600'000'000);
  EXPECT_LT(d->state.shown_counter_mj / 1600, 0.5 * true_mean);
}

TEST(Sensor, UtilizationIsTheShareOfTimeAKernelRan) {
  auto d = std::make_unique<Device>("h100");
  for (int i = 0; i < 10; ++i) {
    post(d->simulation, {.flop = 989e12 * 0.06, .activity = 0.5, .pace_s = 0.1}, 1);
  }
  d->to(kSecond);
  EXPECT_EQ(d->state.utilization, 60u);
  d->to(2 * kSecond);
  EXPECT_EQ(d->state.utilization, 0u);
}

TEST(Sensor, CounterFaults) {
  auto d = std::make_unique<Device>("h100");
  d->faults = {.reset_at_ns = kSecond,
               .frozen_from_ns = 2 * kSecond,
               .frozen_until_ns = 3 * kSecond,
               .step_back_at_ns = 4 * kSecond,
               .step_back_mj = 500};
  d->to(kSecond - 1);
  const double before = d->state.shown_counter_mj;
  EXPECT_GT(before, 0);
  d->to(kSecond);
  EXPECT_EQ(d->state.shown_counter_mj, 0);
  d->to(2 * kSecond - 1);
  const double frozen = d->state.shown_counter_mj;
  d->to(3 * kSecond - 1);
  EXPECT_EQ(d->state.shown_counter_mj, frozen);
  d->to(3 * kSecond);
  EXPECT_GT(d->state.shown_counter_mj, frozen);
  d->to(4 * kSecond - 1);
  const double last = d->state.shown_counter_mj;
  const double power_mw = power_now(d->simulation, d->silicon, d->controls) * 1e3;
  d->to(4 * kSecond);
  EXPECT_NEAR(d->state.shown_counter_mj, last + power_mw * 0.1 - 500, power_mw * 0.001);
}

TEST(Sensor, KeepsTheLastSamples) {
  auto d = std::make_unique<Device>("v100");
  d->to(kSecond * 5);
  EXPECT_EQ(d->state.samples, 250u);
  EXPECT_EQ(d->state.ring[249 % kSampleRing].at_ns, 5 * kSecond);
}

}  // namespace
}  // namespace perjoule::twin
