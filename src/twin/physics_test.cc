// The published power effects that the model must show: these are physics, not timing.
#include "twin/physics.h"

#include <gtest/gtest.h>

#include "twin/gpu_model.h"

namespace perjoule::twin {
namespace {

const Silicon& chip(const char* key) { return (*find_gpu_model(key))->silicon; }

double rate(const Silicon& silicon, const Phase& phase, double cap_w) {
  return 1 / settle(silicon, phase, cap_w, silicon.reference_c).period_s;
}

TEST(Physics, VoltageIsFlatThenRises) {
  const Silicon& h100 = chip("h100");
  EXPECT_DOUBLE_EQ(voltage(h100, 345), 0.72);
  EXPECT_DOUBLE_EQ(voltage(h100, 1200), 0.72);
  EXPECT_DOUBLE_EQ(voltage(h100, 1980), 0.88);
  EXPECT_NEAR(voltage(h100, 1590), 0.80, 1e-12);
}

TEST(Physics, LeakageGrowsOnePerCentPerDegree) {
  const Silicon& h100 = chip("h100");
  EXPECT_DOUBLE_EQ(static_power(h100, 65), 110);
  EXPECT_NEAR(static_power(h100, 75), 121, 1e-9);
  EXPECT_NEAR(static_power(h100, 30), 71.5, 1e-9);
}

TEST(Physics, TimeIsTheSlowerOfComputeAndMemoryOrTheirSum) {
  const Silicon& h100 = chip("h100");
  Phase phase{.flop = 989e12, .bytes = 3.35e12 * 1.5};
  EXPECT_NEAR(device_time(h100, phase, 1980), 1.5, 1e-12);
  EXPECT_NEAR(device_time(h100, phase, 990), 2.0, 1e-12);
  phase.overlap = Overlap::kNone;
  EXPECT_NEAR(device_time(h100, phase, 990), 3.5, 1e-12);
}

// Two kernels for one GEMM: K2's tile switches less, 0.775 of K1's power per cycle and volt
// squared, and takes 4.5 % more cycles. Uncapped it is slower, at 700 W faster.
TEST(Physics, KernelChoiceFlipsUnderTheCap) {
  const Silicon& h100 = chip("h100");
  const Phase k1{.flop = 1e12, .activity = 1.0};
  const double coefficient = 0.775 * (h100.clock_c + h100.activity_c);
  const Phase k2{.flop = 1e12 * 1.045, .activity = (coefficient - h100.clock_c) / h100.activity_c};
  const auto gain = [&](double cap) { return rate(h100, k2, cap) / rate(h100, k1, cap) - 1; };
  EXPECT_NEAR(100 * gain(1e9), -4.5, 0.5);
  EXPECT_NEAR(100 * gain(700), 10.2, 0.5);
  EXPECT_GT(gain(450), gain(700));
}

// The same GEMM on zeros and on random numbers: equal power, very unequal speed.
TEST(Physics, ZeroDataRunsFasterUnderTheCap) {
  const Silicon& gb300 = chip("gb300");
  const Phase random{.flop = 1e12, .activity = 1.0, .dram_share = 0.15};
  const Phase zeros{.flop = 1e12, .activity = 0.35, .dram_share = 0.15};
  const auto ratio = [&](double cap) { return rate(gb300, zeros, cap) / rate(gb300, random, cap); };
  EXPECT_NEAR(ratio(1400), 1.20, 0.02);
  EXPECT_NEAR(ratio(1000), 1.55, 0.04);
  EXPECT_NEAR(ratio(700), 2.13, 0.03);
}

TEST(Physics, FullSpeedPeakIsTheDocumentedExcursion) {
  const Silicon& gb300 = chip("gb300");
  const Phase random{.flop = 1e12, .dram_share = 0.15};
  EXPECT_NEAR(active_power(gb300, random, 2070, gb300.reference_c), 1818, 20);
}

TEST(Physics, FloorOfTheClockViolatesTheCap) {
  const Silicon& a40 = chip("a40");
  const Phase heavy{.flop = 1e12, .activity = 1.0};
  const SteadyState steady = settle(a40, heavy, 100, a40.reference_c);
  EXPECT_TRUE(steady.at_floor);
  EXPECT_DOUBLE_EQ(steady.clock_mhz, a40.clock_floor_mhz);
  EXPECT_GT(steady.energy_j / steady.period_s, 100);
}

TEST(Physics, WaitingCountsIntoThePeriodButNotUnderTheCap) {
  const Silicon& h100 = chip("h100");
  const Phase plain{.flop = 9.89e14};
  Phase waiting = plain;
  waiting.host_s = 2;
  waiting.pace_s = 10;
  const SteadyState a = settle(h100, plain, 700, 65);
  const SteadyState b = settle(h100, waiting, 700, 65);
  EXPECT_DOUBLE_EQ(a.clock_mhz, b.clock_mhz);
  EXPECT_DOUBLE_EQ(b.period_s, 10);
  EXPECT_NEAR(b.energy_j, a.energy_j + (10 - a.busy_s) * idle_power(h100, true, b.clock_mhz, 65),
              1e-6);
}

}  // namespace
}  // namespace perjoule::twin
