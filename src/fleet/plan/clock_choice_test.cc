#include "fleet/plan/clock_choice.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/text.h"
#include "fleet/plan/test_profiles.h"

namespace perjoule {
namespace {

ProfileCurve curve(double clock, double power, double ttft) {
  ProfileCurve one{{"m", "g", 1, 1}, clock, "", {}, Status::kMeasured, "t"};
  for (const double load : {100.0, 200.0}) {
    ServingPoint point;
    point.load = load;
    point.power = Watts(power + load);
    point.ttft[LatencyStatistic::kMean] = Seconds(ttft);
    point.tbt[LatencyStatistic::kMean] = Seconds(0.01);
    one.points.push_back(point);
  }
  return one;
}

double number_of(const Json& json, std::string_view name) {
  return *parse_number(*json.string(name));
}

void expect_pick(const ServingProfile& profile, const std::optional<ClockPick>& pick,
                 const Json& wanted) {
  ASSERT_TRUE(pick);
  const ProfileCurve& found = profile.curves[pick->curve];
  EXPECT_EQ(found.clock_mhz, number_of(wanted, "clock"));
  EXPECT_EQ(found.layout.tensor_parallel, number_of(wanted, "tp"));
  EXPECT_EQ(found.layout.pipeline_parallel, number_of(wanted, "pp"));
  EXPECT_EQ(pick->at.point.power.value(), number_of(wanted, "gpu_power"));
  EXPECT_EQ(pick->at.reach, Reach::kMeasured);
}

TEST(ClockChoiceGolden, AllOfBeamsProfiles) {
  PJ_TEST_DATA(path, kBeamFolder + "expected_frequency_choices.json");
  const auto expected = parse_json(read_file(path).value());
  ASSERT_TRUE(expected);
  const Json::Array& examples = *expected->find("examples")->as_array();
  ASSERT_EQ(examples.size(), 46U);
  for (const Json& example : examples) {
    SCOPED_TRACE(example.dump());
    const auto profile =
        read_serving_profile(test_data_folder() + "/" + kBeamFolder + *example.string("input"), {});
    ASSERT_TRUE(profile) << profile.error().text();
    const Json& slo = *example.find("slo");
    LatencyTarget target = mean_target(*slo.number("ttft_ms"), *slo.number("tbt_ms"));
    if (*slo.string("statistic") == "ttft_p99 & tbt_p90") {
      target.ttft.statistic = LatencyStatistic::kP99;
      target.tbt.statistic = LatencyStatistic::kP90;
    }
    const ClockChoice choice = choose_clock(*profile, *example.number("tps"), target);
    expect_pick(*profile, choice.reference, *example.find("max_clock_reference"));
    if (example.find("chosen")->is_null()) {
      EXPECT_FALSE(choice.chosen);
      EXPECT_TRUE(choice.nearest);
      continue;
    }
    expect_pick(*profile, choice.chosen, *example.find("chosen"));
    EXPECT_NEAR(*choice.saving(), *example.number("power_saving_fraction"), 1e-15);
  }
}

TEST(ClockChoiceTest, WhatMeetsNothingSaysWhatComesNearest) {
  const ServingProfile profile{{curve(800, 10, 3), curve(1400, 50, 2)}, {}};
  const ClockChoice late = choose_clock(profile, 150, mean_target(1000, 100));
  EXPECT_FALSE(late.chosen);
  ASSERT_TRUE(late.nearest);
  EXPECT_EQ(late.nearest->curve, 1U);
  EXPECT_DOUBLE_EQ(late.nearest_times, 2);
  EXPECT_FALSE(late.reference_meets);
  EXPECT_FALSE(late.saving());
  const ClockChoice beyond = choose_clock(profile, 300, mean_target(1000, 100));
  EXPECT_FALSE(beyond.nearest);
  EXPECT_EQ(beyond.highest_load, 200);
  LatencyTarget unknown = mean_target(1000, 100);
  unknown.tbt.statistic = LatencyStatistic::kP99;
  EXPECT_FALSE(choose_clock(profile, 100, unknown).nearest);
}

TEST(ClockChoiceTest, BetweenPointsItSaysSo) {
  const ServingProfile profile{{curve(800, 10, 0.5), curve(1400, 50, 0.2)}, {}};
  const ClockChoice choice = choose_clock(profile, 150, mean_target(1000, 100));
  EXPECT_EQ(choice.chosen->curve, 0U);
  EXPECT_EQ(choice.chosen->at.reach, Reach::kBetween);
  EXPECT_DOUBLE_EQ(*choice.saving(), 1 - 160.0 / 200);
}

TEST(ClockChoiceTest, AClassWithoutCurvesTakesThoseOfAny) {
  ServingProfile profile{{curve(800, 10, 1), curve(1400, 50, 1)}, {}};
  profile.curves[1].load_class = "MM";
  EXPECT_EQ(select_curves(profile, "", "", "MM").curves.size(), 1U);
  EXPECT_EQ(select_curves(profile, "", "", "SS").curves.front().clock_mhz, 800);
  EXPECT_EQ(select_curves(profile, "m", "g", "").curves.size(), 2U);
  EXPECT_TRUE(select_curves(profile, "other", "", "").curves.empty());
}

}  // namespace
}  // namespace perjoule
