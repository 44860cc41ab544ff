#include "serving/engine/prometheus_power.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace perjoule {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A scrape each 30 s, of a collector that has no age.
RemoteWindow window(double from, double until) {
  RemoteWindow window{.from = Seconds(from), .until = Seconds(until)};
  window.collected_every = Seconds(0);
  return window;
}

std::vector<PromPoint> points(const std::vector<std::pair<double, double>>& pairs) {
  std::vector<PromPoint> made;
  for (const auto& [at, value] : pairs) made.push_back({Seconds(at), value});
  return made;
}

TEST(PrometheusPower, ACounterBetweenScrapes) {
  // 100 W, then 200 W.
  const auto counter = points({{0, 0}, {30, 3000}, {60, 9000}, {90, 15000}});
  const RemoteGpu exact = energy_of_counter(counter, window(30, 90));
  EXPECT_EQ(exact.energy.joules, Joules(12000));
  EXPECT_EQ(exact.energy.random, Joules(0)) << "its edges are scrapes";
  EXPECT_EQ(exact.energy.lower, Joules(12000));
  EXPECT_EQ(exact.energy.upper, Joules(12000));
  EXPECT_EQ(exact.power, Watts(200));
  EXPECT_EQ(exact.step, Seconds(30));
  EXPECT_EQ(exact.energy.status, Status::kMeasured);
  EXPECT_EQ(exact.energy.boundary, Boundary::kDevice);

  const RemoteGpu within = energy_of_counter(counter, window(15, 75));
  EXPECT_EQ(within.energy.joules, Joules(12000 - 1500));
  EXPECT_NEAR(within.energy.random.value(), std::hypot(3000, 6000) / std::sqrt(12), 1e-9);
  EXPECT_EQ(within.energy.lower, Joules(9000 - 3000));
  EXPECT_EQ(within.energy.upper, Joules(15000));
  EXPECT_FALSE(within.energy.lower_bound);
}

TEST(PrometheusPower, WhatTheExporterCollectedIsOld) {
  RemoteWindow aged = window(0, 60);
  aged.collected_every = Seconds(30);
  const RemoteGpu gpu = energy_of_counter(points({{0, 0}, {60, 6000}, {120, 12000}}), aged);
  EXPECT_NEAR(gpu.energy.random.value(), std::sqrt(2) * 100 * 30 / std::sqrt(12), 1e-9);
  EXPECT_TRUE(std::isinf(gpu.energy.upper.value())) << "an age moves the bounds";
}

TEST(PrometheusPower, ACounterThatBeginsAnewGivesALowerBound) {
  const auto counter = points({{0, 50'000}, {30, 53'000}, {60, 1000}, {90, 4000}});
  const RemoteGpu gpu = energy_of_counter(counter, window(0, 90));
  EXPECT_EQ(gpu.energy.joules, Joules(3000 + 1000 + 3000));
  EXPECT_EQ(gpu.resets, 1U);
  EXPECT_TRUE(gpu.energy.lower_bound);
  const RemoteGpu behind = energy_of_counter(counter, window(60, 90));
  EXPECT_EQ(behind.resets, 0U);
  EXPECT_FALSE(behind.energy.lower_bound);
  EXPECT_EQ(behind.energy.joules, Joules(3000));
}

TEST(PrometheusPower, AWindowThatReachesBeyondTheSamples) {
  const auto counter = points({{30, 0}, {60, 3000}});
  for (const auto& [from, until] : {std::pair(0, 60), std::pair(30, 90)}) {
    const RemoteGpu gpu = energy_of_counter(counter, window(from, until));
    EXPECT_EQ(gpu.energy.joules, Joules(3000));
    EXPECT_TRUE(gpu.energy.lower_bound);
  }
  for (const auto& few : {points({}), points({{30, 5}}), points({{100, 5}, {130, 8}})}) {
    EXPECT_EQ(energy_of_counter(few, window(0, 60)).energy.status, Status::kMissing);
    EXPECT_EQ(energy_of_power(few, window(0, 60)).energy.status, Status::kMissing);
  }
}

TEST(PrometheusPower, PowerByTrapezoids) {
  const auto power = points({{0, 100}, {10, 100}, {20, 300}, {30, 300}});
  const RemoteGpu gpu = energy_of_power(power, window(5, 30));
  EXPECT_NEAR(gpu.energy.joules.value(), 500 + 2000 + 3000, 1e-9);
  EXPECT_NEAR(gpu.energy.random.value(), 200 * 10 / std::sqrt(12), 1e-9) << "the step between two";
  EXPECT_FALSE(gpu.energy.lower_bound);
}

TEST(PrometheusPower, AGapInThePowerIsNotBridged) {
  const auto power = points({{0, 100}, {10, 100}, {20, 100}, {100, 100}, {110, 100}});
  const RemoteGpu gpu = energy_of_power(power, window(0, 110));
  EXPECT_NEAR(gpu.energy.joules.value(), 3000, 1e-9);
  EXPECT_TRUE(gpu.energy.lower_bound);
}

PromSeries series(const std::string& uuid, const std::string& pod, std::vector<PromPoint> given) {
  return {{{"UUID", uuid}, {"Hostname", "n1"}, {"modelName", "NVIDIA H100"}, {"pod", pod}},
          std::move(given)};
}

TEST(PrometheusPower, GpusOfWhicheverPods) {
  PromAnswer counters;  // mJ; the GPU's pod changes at 45 s
  counters.series.push_back(series("GPU-1", "a", points({{0, 0}, {30, 3e6}})));
  counters.series.push_back(series("GPU-1", "b", points({{60, 6e6}, {90, 9e6}})));
  counters.warnings.push_back("a store was away");
  PromAnswer powers;
  powers.series.push_back(series("GPU-1", "a", points({{0, 1}, {90, 1}})));
  powers.series.push_back(series("GPU-2", "", points({{0, 200}, {30, 200}, {60, 200}, {90, 200}})));
  const auto drawn = remote_gpu_energy(counters, powers, window(0, 90));
  ASSERT_TRUE(drawn) << drawn.error().text();
  ASSERT_EQ(drawn->gpus.size(), 2U);
  EXPECT_EQ(drawn->gpus[0].energy.joules, Joules(9000)) << "the counter goes before the power";
  EXPECT_EQ(drawn->gpus[0].energy.source, "prometheus:DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION");
  EXPECT_EQ(drawn->gpus[0].energy.systematic.front().sensor, "gpu:GPU-1/board/gain");
  EXPECT_EQ(drawn->gpus[1].energy.joules, Joules(18000));
  EXPECT_EQ(drawn->gpus[1].energy.source, "prometheus:DCGM_FI_DEV_POWER_USAGE");
  EXPECT_EQ(drawn->gpus[1].model, "NVIDIA H100");
  EXPECT_EQ(drawn->total.joules, Joules(27000));
  EXPECT_THAT(drawn->notes, ElementsAre("a store was away"));
}

TEST(PrometheusPower, AGpuWithoutSamplesMakesTheTotalMissing) {
  PromAnswer powers;
  powers.series.push_back(series("GPU-1", "", points({{0, 100}, {90, 100}})));
  powers.series.push_back(series("GPU-2", "", points({{0, 100}})));
  const auto drawn = remote_gpu_energy(PromAnswer{}, powers, window(0, 90));
  ASSERT_TRUE(drawn);
  EXPECT_EQ(drawn->total.status, Status::kMissing);
  EXPECT_THAT(drawn->notes, ElementsAre(HasSubstr("GPU-2: too few samples")));
}

TEST(PrometheusPower, NoGpuAtAll) {
  RemoteWindow asked = window(0, 90);
  asked.selector = "Hostname=\"n7\"";
  const auto drawn = remote_gpu_energy(PromAnswer{}, PromAnswer{}, asked);
  ASSERT_FALSE(drawn);
  EXPECT_EQ(drawn.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(drawn.error().text(), HasSubstr("{Hostname=\"n7\"}"));
}

}  // namespace
}  // namespace perjoule
