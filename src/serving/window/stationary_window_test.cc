#include "serving/window/stationary_window.h"

#include <gtest/gtest.h>

#include "serving/window/test_load.h"

namespace perjoule {
namespace {

using namespace test_load;

constexpr double kFullBatchEnergy = 164 * 0.02 / 32;

TEST(StationaryWindow, OfRequestsSentAtOnceItIsTheFullBatch) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const LoadRun made = closed({.power_noise = 0.02}, 640, seed);
    const auto found = stationary_window(made.records, made.power);
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_NEAR(energy_per_token(made, found->window).value(), kFullBatchEnergy,
                2e-3 * kFullBatchEnergy);
    // The queue that was there at once empties: no time to first token is of a steady state.
    EXPECT_FALSE(found->queue_is_level);
    EXPECT_NE(found->window.warning.find("the queue is not level"), std::string::npos);
    const auto theirs = full_batch_window(made.records, 32);
    EXPECT_GE(found->window.from, theirs->from);
    EXPECT_GT(found->window.duration(), 0.5 * theirs->duration());
  }
}

TEST(StationaryWindow, OfOpenLoadItLeavesBuildUpAndDrainOut) {
  SteadyWindow middle;
  middle.from = Instant{} + Seconds(100);
  middle.until = Instant{} + Seconds(1900);
  const LoadRun long_run = test_load::open({}, Hertz(10), Seconds(2000), 99);
  const double truth = energy_per_token(long_run, middle).value();
  double ours = 0;
  double whole_runs = 0;
  constexpr int kRuns = 10;
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
    const LoadRun made = test_load::open({.power_noise = 0.02}, Hertz(10), Seconds(60), seed);
    const auto found = stationary_window(made.records, made.power);
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_TRUE(found->queue_is_level) << found->window.warning;
    ours += energy_per_token(made, found->window).value() / kRuns;
    SteadyWindow whole;
    whole.from = Instant{-1};
    whole.until = made.power.back().at;
    whole_runs += energy_per_token(made, whole).value() / kRuns;
  }
  EXPECT_NEAR(ours, truth, 0.02 * truth);
  EXPECT_GT(whole_runs, 1.03 * truth);
}

TEST(StationaryWindow, OfALoadThatChangesItIsTheLongerPart) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const LoadRun made = test_load::open({}, Hertz(12), Seconds(300), seed, Seconds(200), Hertz(3));
    const auto found = stationary_window(made.records, made.power);
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_LT(found->window.until, Instant{} + Seconds(215));
    EXPECT_GT(found->window.duration(), Seconds(120));
    EXPECT_NEAR(window_totals(made.records, found->window).mean_running, 24, 4);
  }
}

TEST(StationaryWindow, AnOverloadedServerIsSteadyInEnergyAndItsQueueIsNot) {
  const LoadRun made = test_load::open({}, Hertz(24), Seconds(120), 1);  // it serves 16 a second
  const auto found = stationary_window(made.records, made.power);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_NEAR(energy_per_token(made, found->window).value(), kFullBatchEnergy,
              2e-3 * kFullBatchEnergy);
  EXPECT_FALSE(found->queue_is_level);
}

TEST(StationaryWindow, WhereNothingIsStationaryThereIsNone) {
  // Power climbs through the whole run, to the double of what it was.
  LoadRun made = closed({}, 640);
  const Instant last = made.power.back().at;
  for (PowerReading& sample : made.power)
    sample.power *= 1 + (sample.at - Instant{}) / (last - Instant{});
  const auto refused = stationary_window(made.records, made.power);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(
      refused.error().message.rfind("no stretch of the run is stationary: the course of power "
                                    "changes its level (KPSS ",
                                    0),
      0U)
      << refused.error().message;
  // By 1 % it may.
  made = closed({}, 640);
  for (PowerReading& sample : made.power)
    sample.power *= 1 + 0.01 * ((sample.at - Instant{}) / (last - Instant{}));
  EXPECT_TRUE(stationary_window(made.records, made.power));
}

TEST(StationaryWindow, WhatIsTooShortIsRefusedWithTheReason) {
  const auto message = [](const std::vector<RequestRecord>& records,
                          const std::vector<PowerReading>& power) {
    const auto found = stationary_window(records, power);
    return found ? std::string("found") : found.error().message;
  };
  EXPECT_EQ(message({}, {}), "no request had a first token: nothing to find a window in");
  const LoadRun at_once = closed({}, 20);  // all run from the beginning
  EXPECT_EQ(message(at_once.records, at_once.power),
            "no stretch of the run can be stationary: the last of 20 requests had its first token "
            "before one would have run from beginning to end");
  LoadRun made = closed({}, 320);
  EXPECT_EQ(message(made.records, {}), "found");
  std::vector<PowerReading> rare;
  for (std::size_t i = 0; i < made.power.size(); i += 100) rare.push_back(made.power[i]);
  rare.push_back(made.power.back());
  EXPECT_NE(message(made.records, rare).find("too few samples of power"), std::string::npos);
  made.power.resize(made.power.size() / 2);
  EXPECT_EQ(message(made.records, made.power), "the samples of power do not reach over the run");
}

}  // namespace
}  // namespace perjoule
