#include "math/stationary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "math/random.h"

namespace perjoule {
namespace {

std::vector<double> noise(std::size_t size, std::uint64_t seed, double level = 10) {
  Random random(seed);
  std::vector<double> values;
  for (std::size_t i = 0; i < size; ++i) values.push_back(level + random.normal());
  return values;
}

/// The standard error, squared, of the mean without the first `d`, from scratch.
double squared_error(const std::vector<double>& values, std::size_t d) {
  const auto n = static_cast<double>(values.size() - d);
  double mean = 0;
  for (std::size_t i = d; i < values.size(); ++i) mean += values[i] / n;
  double squares = 0;
  for (std::size_t i = d; i < values.size(); ++i)
    squares += (values[i] - mean) * (values[i] - mean);
  return squares / (n * n);
}
std::size_t slow_warm_up_length(const std::vector<double>& values) {
  double least = squared_error(values, 0);
  for (std::size_t d = 1; d <= values.size() / 2; ++d)
    least = std::min(least, squared_error(values, d));
  std::size_t d = 0;
  while (squared_error(values, d) > 1.25 * least) ++d;
  return d;
}

TEST(Stationary, WarmUpIsWhatRaisesTheStandardError) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<double> values = noise(60, seed);
    for (std::size_t i = 0; i < 8; ++i) values[i] -= 10 - static_cast<double>(i);
    const std::size_t length = warm_up_length(values);
    EXPECT_EQ(length, slow_warm_up_length(values)) << seed;
    EXPECT_GE(length, 5U) << seed;
    EXPECT_LE(length, 12U) << seed;
  }
  EXPECT_EQ(warm_up_length({}), 0U);
  EXPECT_EQ(warm_up_length(std::vector<double>{1}), 0U);
  EXPECT_EQ(warm_up_length(std::vector<double>(40, 3.7)), 0U);
  // A level that changes in the second half is no warm-up: half is the most that goes.
  std::vector<double> late(40, 1.0);
  for (std::size_t i = 30; i < 40; ++i) late[i] = 2;
  EXPECT_LE(warm_up_length(late), 20U);
}

TEST(Stationary, KpssOfASeriesWorkedOutByHand) {
  // Deviations -1.5 -0.5 0.5 1.5, partial sums -1.5 -2 -1.5 0: squares 8.5. Variance 1.25, one lag
  // (4 x 0.04^0.25 = 1.79) of covariance 1.25 / 4 at weight 1/2: 1.5625. 8.5 / (16 x 1.5625).
  EXPECT_NEAR(kpss_statistic(std::vector<double>{1, 2, 3, 4}), 0.34, 1e-12);
  EXPECT_EQ(kpss_statistic(std::vector<double>(30, 0.1)), 0);
}

TEST(Stationary, KpssRejectsNoiseAboutAsOftenAsItsLevelSays) {
  int rejected = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed)
    rejected += kpss_statistic(noise(64, seed)) > kKpssLimit ? 1 : 0;
  EXPECT_GE(rejected, 6);
  EXPECT_LE(rejected, 34);
}

TEST(Stationary, KpssRejectsDriftsAndShifts) {
  int drifts = 0;
  int shifts = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::vector<double> drift = noise(64, seed);
    std::vector<double> shift = drift;
    for (std::size_t i = 0; i < 64; ++i) {
      drift[i] += 0.04 * static_cast<double>(i);
      shift[i] += i < 32 ? 0 : 2;
    }
    drifts += kpss_statistic(drift) > kKpssLimit ? 1 : 0;
    shifts += kpss_statistic(shift) > kKpssLimit ? 1 : 0;
  }
  EXPECT_GE(drifts, 45);
  EXPECT_GE(shifts, 45);
}

}  // namespace
}  // namespace perjoule
