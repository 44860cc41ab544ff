#include "math/statistic.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

TEST(Statistic, PercentilesLieOnTheLineBetweenOrderStatistics) {
  // As numpy.percentile([1, 2, 4, 8], [0, 25, 50, 90, 100]).
  const std::vector<double> values{1, 2, 4, 8};
  EXPECT_DOUBLE_EQ(percentile(values, 0), 1);
  EXPECT_DOUBLE_EQ(percentile(values, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(percentile(values, 0.5), 3);
  EXPECT_DOUBLE_EQ(percentile(values, 0.9), 6.8);
  EXPECT_DOUBLE_EQ(percentile(values, 1), 8);
  EXPECT_DOUBLE_EQ(percentile({5}, 0.99), 5);
}

TEST(Statistic, MeanErrorAndMedian) {
  const Statistic of_three = statistic({1, 2, 3});
  EXPECT_DOUBLE_EQ(of_three.mean, 2);
  EXPECT_DOUBLE_EQ(of_three.error, 0.57735026918962573);
  EXPECT_DOUBLE_EQ(statistic({4}).error, 0);
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
}

}  // namespace
}  // namespace perjoule
