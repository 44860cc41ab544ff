#include "math/log_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "math/random.h"

namespace perjoule {
namespace {

TEST(LogHistogramTest, PercentilesAreWithinHalfABin) {
  Random random(3);
  std::vector<double> values(20'000);
  LogHistogram histogram;
  for (double& value : values) {
    value = std::exp(random.normal() * 3);
    histogram.add(value);
  }
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const double value : values) sum += value;
  EXPECT_NEAR(histogram.mean(), sum / 20'000, 1e-9 * sum);
  for (const double percent : {0.0, 1.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
    const auto rank = static_cast<std::size_t>(std::max(1.0, std::round(percent * 200)));
    const double exact = values[rank - 1];
    EXPECT_NEAR(histogram.percentile(percent), exact, LogHistogram::kHalfWidth * exact) << percent;
    EXPECT_NEAR(histogram.share_up_to(exact), percent / 100, 0.005);
  }
}

TEST(LogHistogramTest, WeightsCountAsManyTimes) {
  LogHistogram one;
  one.add(1, 99);
  one.add(10, 1);
  LogHistogram two;
  two.add(10, 100);
  EXPECT_NEAR(one.percentile(99), 1, 0.01);
  EXPECT_NEAR(one.percentile(99.5), 10, 0.1);
  one.add(two);
  EXPECT_EQ(one.count(), 200U);
  EXPECT_DOUBLE_EQ(one.mean(), (99 + 10 + 1000) / 200.0);
  EXPECT_NEAR(one.percentile(50), 10, 0.1);
}

TEST(LogHistogramTest, NothingHasNoPercentileAndZeroIsZero) {
  LogHistogram histogram;
  EXPECT_TRUE(std::isnan(histogram.percentile(50)));
  EXPECT_TRUE(std::isnan(histogram.mean()));
  EXPECT_TRUE(std::isnan(histogram.share_up_to(1)));
  histogram.add(0, 3);
  histogram.add(5, 0);
  EXPECT_EQ(histogram.percentile(100), 0);
  EXPECT_EQ(histogram.count(), 3U);
  EXPECT_EQ(histogram.share_up_to(0), 1);
}

}  // namespace
}  // namespace perjoule
