// The promise of every printed interval, on the twin: bench/coverage.cc measures it in full.
#include <gtest/gtest.h>

#include "interval_coverage.h"

namespace perjoule {
namespace {

TEST(IntervalCoverage, StatedIntervalsCoverTheTruth) {
  bench::CoverageOptions options;
  options.standin = PERJOULE_STANDIN_DIR "/libnvidia-ml.so.1";
  options.windows = 420;
  options.longest = Seconds(10);
  const auto result = bench::measure_coverage(options);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->all.windows, 420);
  EXPECT_GE(result->all.share(), 0.90);
  EXPECT_EQ(result->outside_hard_bounds, 0);
  for (const bench::CoverageCount& device : result->by_device)
    EXPECT_GE(device.share(), 0.85) << device.of;
}

TEST(IntervalCoverage, HoldsWithTheSamplerToo) {
  bench::CoverageOptions options;
  options.standin = PERJOULE_STANDIN_DIR "/libnvidia-ml.so.1";
  options.windows = 140;
  options.longest = Seconds(10);
  options.seed = 2;
  options.sampled = true;
  const auto result = bench::measure_coverage(options);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_GE(result->all.share(), 0.90);
}

}  // namespace
}  // namespace perjoule
