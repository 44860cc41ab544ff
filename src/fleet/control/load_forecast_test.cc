#include "fleet/control/load_forecast.h"

#include <gtest/gtest.h>

#include <cmath>

namespace perjoule {
namespace {

LoadCurve days(const std::vector<double>& scale) {
  LoadCurve load;
  load.classes.assign(kLoadClasses, "");
  double start = 0;
  for (const double day : scale) {
    for (int hour = 0; hour < 24; ++hour) {
      LoadBin bin{Seconds(start), Seconds(3600), std::vector<double>(kLoadClasses, 0.0)};
      bin.tokens_per_s[4] = day * (100 + hour);
      load.bins.push_back(bin);
      start += 3600;
    }
  }
  return load;
}

TEST(LoadForecastTest, WhatIsKnownIsTheHighestBinThatIsTouched) {
  const auto known = known_load(days({1}));
  EXPECT_EQ(known->peak(Seconds(0), Seconds(1800))[4], 100);
  EXPECT_EQ(known->peak(Seconds(1800), Seconds(3601))[4], 101);
  EXPECT_EQ(known->peak(Seconds(23 * 3600), Seconds(1e9))[4], 123);
  EXPECT_EQ(known->peak(Seconds(1e9), Seconds(2e9))[4], 0);
  EXPECT_EQ(name_of(known->basis(Seconds(0), Seconds(1), 4)), "known");
}

TEST(LoadForecastTest, ATemplateIsTheMeanDayAndItsSpread) {
  const auto made = daily_template(days({1, 3}), {.spread = 1});
  ASSERT_TRUE(made) << made.error().text();
  // Mean 200, standard deviation 100; the tenth day as the first.
  EXPECT_NEAR((*made)->peak(Seconds(0), Seconds(3600))[4], 300, 1e-9);
  EXPECT_NEAR((*made)->peak(Seconds(10 * 86'400), Seconds(10 * 86'400 + 3600))[4], 300, 1e-9);
  EXPECT_NEAR((*made)->peak(Seconds(0), Seconds(2 * 3600))[4], 303, 1e-9);
  EXPECT_EQ(name_of((*made)->basis(Seconds(0), Seconds(1), 4)), "history");
}

TEST(LoadForecastTest, ASimulationMayBeginWithinADay) {
  const auto made = daily_template(days({1}), {.spread = 0, .now = Seconds(5 * 3600)});
  ASSERT_TRUE(made);
  EXPECT_NEAR((*made)->peak(Seconds(0), Seconds(3600))[4], 105, 1e-9);
  EXPECT_NEAR((*made)->peak(Seconds(20 * 3600), Seconds(21 * 3600))[4], 101, 1e-9);
}

TEST(LoadForecastTest, ATemplateIsStretchedToWhatComes) {
  const auto made = daily_template(days({1, 1}), {.spread = 0});
  ASSERT_TRUE(made);
  ClassLoads came = {};
  for (double at = 5; at < 3 * 3600; at += 5) {
    came[4] = 1.5 * (100 + std::floor(at / 3600));
    (*made)->observe(Seconds(at), came);
  }
  EXPECT_NEAR((*made)->peak(Seconds(3 * 3600), Seconds(4 * 3600))[4], 1.5 * 103, 1);
  came[4] = 1e9;
  for (double at = 3 * 3600; at < 9 * 3600; at += 5) (*made)->observe(Seconds(at), came);
  EXPECT_NEAR((*made)->peak(Seconds(9 * 3600), Seconds(10 * 3600))[4], 2 * 109, 1);
}

TEST(LoadForecastTest, WhatMakesNoTemplate) {
  LoadCurve half = days({1});
  half.bins.resize(12);
  EXPECT_FALSE(daily_template(half, {}));
  LoadCurve unlike = days({1});
  unlike.bins.back().duration = Seconds(10);
  EXPECT_FALSE(daily_template(unlike, {}));
  EXPECT_FALSE(daily_template({}, {}));
}

}  // namespace
}  // namespace perjoule
