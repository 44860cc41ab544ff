#include "workload/power_steps.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

/// Samples so many seconds after the beginning.
PowerSeries series(std::initializer_list<std::pair<double, double>> points) {
  PowerSeries made{"d", {}};
  for (const auto& [seconds, watts] : points)
    made.samples.push_back({static_cast<std::int64_t>(seconds * 1e9), Watts(watts)});
  return made;
}

TEST(PowerSteps, PointsAreJoinedByLines) {
  const PowerSteps steps(series({{0, 0}, {1, 100}, {3, 100}}), PowerKind::kPoint);
  EXPECT_EQ(steps.begin(), 0);
  EXPECT_EQ(steps.end(), 3 * kSecond);
  EXPECT_DOUBLE_EQ(steps.energy(0, 3 * kSecond).value(), 250);
  EXPECT_DOUBLE_EQ(steps.energy(0, kSecond / 2).value(), 12.5);
  EXPECT_DOUBLE_EQ(steps.energy(kSecond / 2, 2 * kSecond).value(), 137.5);
}

TEST(PowerSteps, AMeanBeforeIsOfTheTimeSinceTheLastOne) {
  const PowerSteps steps(series({{1, 10}, {2, 20}, {3, 40}}), PowerKind::kMeanBefore);
  EXPECT_EQ(steps.begin(), 0);
  EXPECT_EQ(steps.end(), 3 * kSecond);
  EXPECT_DOUBLE_EQ(steps.energy(0, 3 * kSecond).value(), 70);
  EXPECT_DOUBLE_EQ(steps.energy(kSecond * 3 / 2, kSecond * 5 / 2).value(), 30);
}

TEST(PowerSteps, AMeanAroundReachesHalfwayToItsNeighbours) {
  const PowerSteps steps(series({{1, 10}, {2, 20}, {3, 40}}), PowerKind::kMeanAround);
  EXPECT_EQ(steps.begin(), kSecond / 2);
  EXPECT_EQ(steps.end(), kSecond * 7 / 2);
  EXPECT_DOUBLE_EQ(steps.energy(kSecond / 2, kSecond * 7 / 2).value(), 70);
  EXPECT_DOUBLE_EQ(steps.energy(kSecond, 2 * kSecond).value(), 15);
}

TEST(PowerSteps, BeyondTheSamplesThePowerBesideGoesOn) {
  for (const PowerKind kind : {PowerKind::kPoint, PowerKind::kMeanBefore, PowerKind::kMeanAround}) {
    const PowerSteps steps(series({{10, 5}, {11, 7}}), kind);
    EXPECT_DOUBLE_EQ(steps.energy(0, 2 * kSecond).value(), 10);
    EXPECT_DOUBLE_EQ(steps.energy(20 * kSecond, 22 * kSecond).value(), 14);
    EXPECT_DOUBLE_EQ(steps.energy(0, 20 * kSecond).value(),
                     steps.energy(0, 10'500'000'000).value() +
                         steps.energy(10'500'000'000, 20 * kSecond).value());
  }
}

TEST(PowerSteps, OneSampleSpeaksOfNoTime) {
  const PowerSteps steps(series({{1, 10}}), PowerKind::kMeanBefore);
  EXPECT_EQ(steps.begin(), steps.end());
  EXPECT_DOUBLE_EQ(steps.energy(0, 2 * kSecond).value(), 20);
  EXPECT_EQ(steps.range(0, 2 * kSecond).low, Watts(10));
}

TEST(PowerSteps, AMissingMeanIsAHoleWithALineOverIt) {
  const PowerSteps steps(series({{1, 10}, {2, 10}, {3, 10}, {13, 30}, {14, 30}}),
                         PowerKind::kMeanBefore);
  EXPECT_DOUBLE_EQ(steps.energy(3 * kSecond, 13 * kSecond).value(), 200);
  const auto gaps = steps.gaps(2 * kSecond, 8 * kSecond, Seconds(2));
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0].begin_unix_ns, 3 * kSecond);
  EXPECT_EQ(gaps[0].end_unix_ns, 8 * kSecond);
  // Told as a gap it is no part of the sampling.
  EXPECT_GT(steps.sampling_variance(2 * kSecond, 8 * kSecond, {}), 0);
  EXPECT_EQ(steps.sampling_variance(2 * kSecond, 8 * kSecond, gaps), 0);
}

TEST(PowerSteps, SlowMeansAreNoGaps) {
  const PowerSteps steps(series({{5, 10}, {10, 20}, {15, 30}}), PowerKind::kMeanBefore);
  EXPECT_TRUE(steps.gaps(0, 15 * kSecond, Seconds(2)).empty());
  EXPECT_EQ(steps.sampling_variance(0, 15 * kSecond, {}), 0);
}

TEST(PowerSteps, BetweenPointsPowerMayHaveChangedAtAnyMoment) {
  const PowerSteps steps(series({{0, 100}, {2, 400}, {4, 400}}), PowerKind::kPoint);
  // (300 W x 2 s)^2 / 12: the variance of a moment evenly likely in two seconds, times 300 W.
  EXPECT_DOUBLE_EQ(steps.sampling_variance(0, 4 * kSecond, {}), 30000);
  EXPECT_DOUBLE_EQ(steps.sampling_variance(0, kSecond, {}), 7500);
}

TEST(PowerSteps, ACutMeanIsNotKnownWithin) {
  const PowerSteps steps(series({{1, 100}, {2, 400}, {3, 400}}), PowerKind::kMeanBefore);
  EXPECT_EQ(steps.sampling_variance(0, 3 * kSecond, {}), 0);
  EXPECT_DOUBLE_EQ(steps.sampling_variance(kSecond / 2, 2 * kSecond, {}), 150 * 150 / 12.0);
}

TEST(PowerSteps, TheRangeIsOfWhatLiesWithin) {
  const PowerSteps steps(series({{0, 1}, {1, 9}, {2, 3}, {3, 5}}), PowerKind::kPoint);
  EXPECT_EQ(steps.range(2 * kSecond, 3 * kSecond).low, Watts(3));
  EXPECT_EQ(steps.range(2 * kSecond, 3 * kSecond).high, Watts(5));
  EXPECT_EQ(steps.range(0, 3 * kSecond).high, Watts(9));
}

}  // namespace
}  // namespace perjoule
