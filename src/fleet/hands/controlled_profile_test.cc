#include "fleet/hands/controlled_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleet/control/engine_capacity.h"

namespace perjoule {
namespace {

using ::testing::HasSubstr;

ServingPoint point(double load, double power, double p99) {
  ServingPoint one;
  one.load = load;
  one.power = Watts(power);
  one.ttft[LatencyStatistic::kP99] = Seconds(p99);
  one.tbt[LatencyStatistic::kP99] = Seconds(0.001);
  return one;
}

ServingProfile profile() {
  ServingProfile all;
  for (const int tp : {1, 2}) {
    for (const double clock : {1000.0, 2000.0}) {
      all.curves.push_back({{"m", "g", tp, 1},
                            clock,
                            "",
                            {point(100, 90 * tp, 0.1), point(200, 200 * tp, 400 / clock)},
                            Status::kMeasured,
                            "t"});
    }
  }
  return all;
}

ControlledEngines engines(double ttft) {
  ControlledEngines some;
  some.degrees = {{1, 1}, {2, 1}};
  some.levels.fill({Seconds(ttft), Seconds(0.1)});
  return some;
}

TEST(ControlledProfile, SaysWhatIsInTimeByItsLatencies) {
  const auto ready = controlled_profile(profile(), engines(0.2));
  ASSERT_TRUE(ready) << ready.error().text();
  EXPECT_EQ(ready->estimated, 8u);
  EXPECT_EQ(ready->points, 8u);
  EXPECT_EQ(ready->least_of_a_gpu, Watts(90));
  const auto capacity = EngineCapacity::make(ready->profile, ready->layouts, 0.99);
  ASSERT_TRUE(capacity);
  EXPECT_EQ(capacity->highest_load(0, 1, kMixedClass), 200);
  EXPECT_LT(capacity->highest_load(0, 0, kMixedClass), 150);
  EXPECT_GE(capacity->highest_load(0, 0, kMixedClass), 100);
}

TEST(ControlledProfile, KeepsAttainmentThatWasCounted) {
  ServingProfile counted = profile();
  for (ProfileCurve& curve : counted.curves) curve.points[0].attainment = 0.5;
  const auto ready = controlled_profile(counted, engines(0.2));
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->estimated, 4u);
  EXPECT_EQ(ready->profile.curves[0].points[0].attainment, 0.5);
}

TEST(ControlledProfile, JudgesEachClassByItsOwnLevel) {
  ControlledEngines some = engines(0.2);
  some.levels[0].first_token = Seconds(0.01);
  const auto ready = controlled_profile(profile(), some);
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->points, 8u);
  const auto capacity = EngineCapacity::make(ready->profile, ready->layouts, 0.95);
  ASSERT_TRUE(capacity);
  EXPECT_EQ(capacity->highest_load(0, 1, 0), 0);
  EXPECT_EQ(capacity->highest_load(0, 1, 1), 200);
  EXPECT_EQ(capacity->highest_load(0, 1, kMixedClass), 200);
}

TEST(ControlledProfile, RefusesWhatIsNotInIt) {
  ControlledEngines some = engines(0.2);
  some.degrees = {{4, 1}};
  auto refused = controlled_profile(profile(), some);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(refused.error().text(), HasSubstr("tp1, tp2"));
  some = engines(0.2);
  some.model = "other";
  EXPECT_THAT(controlled_profile(profile(), some).error().text(), HasSubstr("m on g"));
  ServingProfile two = profile();
  two.curves.push_back(two.curves.front());
  two.curves.back().layout.gpu = "h";
  refused = controlled_profile(two, engines(0.2));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("m on g, m on h"));
  ServingProfile unknown = profile();
  unknown.curves[0].points[0].tbt = {};
  EXPECT_EQ(controlled_profile(unknown, engines(0.2)).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace perjoule
