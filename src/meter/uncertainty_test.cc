#include "meter/uncertainty.h"

#include <gtest/gtest.h>

#include <cmath>

namespace perjoule {
namespace {
using namespace literals;

SourceInfo gpu_counter() {
  SourceInfo info;
  info.id = info.device = "gpu:a";
  info.tick = 0.1_s;
  info.quantum = 1e-3;
  info.max_power = 1400.0_W;
  return info;
}

TEST(Uncertainty, AJumpWithinTheUnseenTickStaysWithinTheHardBounds) {
  // 100 W, and 1300 W for the last 40 ms, of which neither counter nor gauge has told yet.
  WindowFacts facts;
  facts.difference = 100.0_J;
  facts.duration = 1.09_s;
  facts.power_begin = facts.power_end = 100.0_W;
  const EnergyEstimate estimate = estimate_energy(gpu_counter(), facts);
  EXPECT_GE(estimate.upper, 105.0_J + 52.0_J);
  EXPECT_LE(estimate.lower, 100.0_J);
}

TEST(Uncertainty, WhatALateReadingAddsIsTakenOffAndDoubted) {
  // Seven other GPUs were asked first, 50 ms each.
  WindowFacts facts;
  facts.duration = 1.0_s;
  facts.late = 0.35_s;
  facts.difference = 700.0_W * (facts.duration + facts.late);
  facts.power_begin = facts.power_end = 700.0_W;
  const EnergyEstimate estimate = estimate_energy(gpu_counter(), facts);
  EXPECT_NEAR(estimate.joules.value(), 700, 1e-9);
  EXPECT_NEAR(estimate.budget.edge.value(), std::hypot(28.577, 245 / std::sqrt(3.0)), 1e-2);
}

TEST(Uncertainty, AGaugesIntegralLosesItsLateReadingToo) {
  SourceInfo info = gpu_counter();
  info.kind = SourceKind::kPowerGauge;
  WindowFacts facts;
  facts.duration = 2.0_s;
  facts.early = 0.1_s;
  facts.difference = 300.0_W * 2.1_s;
  facts.samples = 21;
  facts.power_begin = facts.power_end = facts.lowest = facts.highest = 300.0_W;
  EXPECT_NEAR(estimate_energy(info, facts).joules.value(), 600, 1e-9);
}

}  // namespace
}  // namespace perjoule
