#include "fleet/profile/serving_profile.h"

#include <gtest/gtest.h>

#include <cmath>

namespace perjoule {
namespace {

ServingPoint point(double load, double power, double ttft, double tbt) {
  ServingPoint one;
  one.load = load;
  one.power = Watts(power);
  one.ttft[LatencyStatistic::kMean] = Seconds(ttft);
  one.tbt[LatencyStatistic::kMean] = Seconds(tbt);
  return one;
}

const ProfileCurve kCurve{
    {"m", "g", 2, 4}, 1400, "", {point(600, 100, 1, 0.1), point(1200, 200, 3, 0.2)}};

TEST(ServingProfileTest, WhatItIsAtALoadSaysHowItCameAbout) {
  EXPECT_EQ(at_load(kCurve, 600).reach, Reach::kMeasured);
  EXPECT_EQ(at_load(kCurve, 1200).reach, Reach::kMeasured);
  const Operating between = at_load(kCurve, 900);
  EXPECT_EQ(between.reach, Reach::kBetween);
  EXPECT_DOUBLE_EQ(between.point.power.value(), 150);
  EXPECT_DOUBLE_EQ(between.point.ttft[LatencyStatistic::kMean].value(), 2);
  EXPECT_DOUBLE_EQ(between.point.load, 900);
  const Operating below = at_load(kCurve, 0);
  EXPECT_EQ(below.reach, Reach::kHeld);
  EXPECT_DOUBLE_EQ(below.point.power.value(), 100);
  EXPECT_EQ(at_load(kCurve, 1200.001).reach, Reach::kBeyond);
  EXPECT_EQ(at_load(kCurve, std::nan("")).reach, Reach::kBeyond);
  EXPECT_EQ(at_load({}, 1).reach, Reach::kBeyond);
}

TEST(ServingProfileTest, AStatisticThatIsNotKnownMeetsNothing) {
  const ServingPoint one = point(600, 100, 1, 0.1);
  LatencyTarget target{{LatencyStatistic::kMean, Seconds(1)},
                       {LatencyStatistic::kMean, Seconds(0.1)}};
  EXPECT_TRUE(meets(one, target));
  target.tbt.statistic = LatencyStatistic::kP99;
  EXPECT_FALSE(meets(one, target));
  target.tbt = {LatencyStatistic::kMean, Seconds(0.099)};
  EXPECT_FALSE(meets(one, target));
}

TEST(ServingProfileTest, AnAttainmentThatIsAskedForCountsInsteadOfTheBounds) {
  ServingPoint one = point(600, 100, 1, 0.1);
  LatencyTarget target;
  target.least_attainment = 0.99;
  EXPECT_FALSE(meets(one, target));  // not counted
  one.attainment = 0.99;
  EXPECT_TRUE(meets(one, target));
  one.attainment = 0.98;
  EXPECT_FALSE(meets(one, target));
}

TEST(ServingProfileTest, ALayoutHasTheGpusOfItsTwoDegrees) {
  EXPECT_EQ(kCurve.layout.gpus(), 8);
  EXPECT_EQ(text_of(kCurve.layout), "tp2 pp4");
  EXPECT_EQ(text_of(InstanceLayout{"m", "g", 8, 1}), "tp8");
}

}  // namespace
}  // namespace perjoule
