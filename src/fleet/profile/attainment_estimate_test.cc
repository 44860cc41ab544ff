#include "fleet/profile/attainment_estimate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace perjoule {
namespace {

ServingPoint point(double p90, double p99, double tbt_mean) {
  ServingPoint one;
  if (p90 > 0) one.ttft[LatencyStatistic::kP90] = Seconds(p90);
  if (p99 > 0) one.ttft[LatencyStatistic::kP99] = Seconds(p99);
  if (tbt_mean >= 0) one.tbt[LatencyStatistic::kMean] = Seconds(tbt_mean);
  return one;
}

TEST(AttainmentEstimate, GoesThroughTheStatisticsThatAreKnown) {
  EXPECT_NEAR(estimated_attainment(point(0.2, 0.4, 0), Seconds(0.2), Seconds(1)), 0.9, 1e-12);
  EXPECT_NEAR(estimated_attainment(point(0.2, 0.4, 0), Seconds(0.4), Seconds(1)), 0.99, 1e-12);
  // Half way on the logarithmic scale, and as far again beyond the last.
  EXPECT_NEAR(estimated_attainment(point(0.2, 0.4, 0), Seconds(0.3), Seconds(1)),
              1 - std::sqrt(0.001), 1e-12);
  EXPECT_NEAR(estimated_attainment(point(0.2, 0.4, 0), Seconds(0.6), Seconds(1)), 0.999, 1e-12);
  EXPECT_NEAR(estimated_attainment(point(0.2, 0, 0), Seconds(0.1), Seconds(1)), 1 - std::sqrt(0.1),
              1e-12);
}

TEST(AttainmentEstimate, AddsTheMissesOfBothLatencies) {
  const double gaps_missed = std::exp(-0.1 / 0.05);
  EXPECT_NEAR(estimated_attainment(point(0.2, 0.4, 0.05), Seconds(0.2), Seconds(0.1)),
              0.9 - gaps_missed, 1e-12);
  EXPECT_EQ(estimated_attainment(point(0.2, 0.4, 50), Seconds(0.01), Seconds(0.1)), 0);
}

TEST(AttainmentEstimate, IsNoneWhereALatencyIsNotKnown) {
  EXPECT_TRUE(std::isnan(estimated_attainment(point(0.2, 0.4, -1), Seconds(1), Seconds(1))));
  EXPECT_TRUE(std::isnan(estimated_attainment(point(0, 0, 0.1), Seconds(1), Seconds(1))));
}

TEST(AttainmentEstimate, OutlivesStatisticsThatDoNotRise) {
  EXPECT_NEAR(estimated_attainment(point(0.4, 0.2, 0), Seconds(0.4), Seconds(1)), 0.9, 1e-12);
}

}  // namespace
}  // namespace perjoule
