#include "fleet/plan/fluid_fleet.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "fleet/plan/test_profiles.h"

namespace perjoule {
namespace {

const LatencyTarget kTarget = mean_target(1000, 1000);

ProfileCurve curve(double clock, std::vector<std::array<double, 3>> points) {
  ProfileCurve one{{"m", "g", 8, 1}, clock, "", {}, Status::kMeasured, "bench of ours"};
  for (const auto& [load, power, ttft] : points) {
    ServingPoint point;
    point.load = load;
    point.power = Watts(power);
    point.ttft[LatencyStatistic::kMean] = Seconds(ttft);
    point.tbt[LatencyStatistic::kMean] = Seconds(0.1);
    one.points.push_back(point);
  }
  return one;
}

LoadCurve load_of(const std::vector<double>& rates) {
  LoadCurve load;
  load.origin = "t";
  for (std::size_t i = 0; i < rates.size(); ++i)
    load.bins.push_back({Seconds(60.0 * static_cast<double>(i)), Seconds(60), {rates[i]}});
  return load;
}

FluidReport run(const FluidFleet& fleet, std::string_view policy) {
  return fleet.run(*find_policy(policy));
}

const ServingProfile kTwoClocks{{curve(1000, {{0, 100, 0.2}, {100, 200, 0.9}, {200, 400, 3}}),
                                 curve(2000, {{0, 150, 0.1}, {100, 350, 0.2}, {200, 600, 0.4}})},
                                {}};

TEST(FluidFleetTest, AFleetSmallEnoughToFollowByHand) {
  const auto fleet = FluidFleet::make(kTwoClocks, load_of({400, 100, 0}), {.target = kTarget});
  ASSERT_TRUE(fleet) << fleet.error().text();
  EXPECT_EQ(fleet->most_servers(), 2);
  const FluidReport single = run(*fleet, "single-pool");
  // 2 x 600, 2 x 250 (50 each), 2 x 150, for a minute each.
  EXPECT_DOUBLE_EQ(single.energy.joules.value(), 60 * (1200 + 500 + 300));
  EXPECT_EQ(single.mean_servers, 2);
  // Without load two servers would have drawn 150 W each all of the time.
  EXPECT_DOUBLE_EQ(single.idle->value(), 180 * 300);
  const FluidReport freq = run(*fleet, "scale-freq");
  EXPECT_DOUBLE_EQ(freq.energy.joules.value(), 60 * (1200 + 300 + 200));
  const FluidReport inst = run(*fleet, "scale-inst");
  EXPECT_DOUBLE_EQ(inst.energy.joules.value(), 60 * (1200 + 350 + 150));
  EXPECT_DOUBLE_EQ(inst.mean_servers, 4.0 / 3);
  const FluidReport both = run(*fleet, "both");
  EXPECT_DOUBLE_EQ(both.energy.joules.value(), 60 * (1200 + 200 + 100));
  ASSERT_EQ(both.shares.size(), 2U);
  // Two servers for a minute at the higher clock, one for two at the lower.
  EXPECT_DOUBLE_EQ(both.shares[0].share, 0.5);
  EXPECT_NE(both.shares[0].clock_mhz, both.shares[1].clock_mhz);
  EXPECT_EQ(both.attainment(), 1);
  EXPECT_EQ(both.energy.status, Status::kReconstructed);
  EXPECT_EQ(both.energy.source, "bench of ours");
}

TEST(FluidFleetTest, ServersStayForAnEpochAndClocksForABin) {
  const FluidOptions options{.target = kTarget, .epoch = Seconds(120)};
  const auto fleet = FluidFleet::make(kTwoClocks, load_of({400, 100, 0, 200}), options);
  ASSERT_TRUE(fleet);
  const FluidReport inst = run(*fleet, "scale-inst-freq");
  ASSERT_EQ(inst.bins.size(), 4U);
  EXPECT_EQ(inst.bins[0].servers, 2);
  EXPECT_EQ(inst.bins[1].servers, 2);
  EXPECT_EQ(inst.bins[2].servers, 1);
  EXPECT_DOUBLE_EQ(inst.energy.joules.value(), 60 * (1200 + 300 + 100 + 600));
  // Two at the lower clock take the 200 with less.
  const FluidReport run_clock = run(*fleet, "scale-inst-run-clock");
  EXPECT_EQ(run_clock.bins[3].servers, 2);
  EXPECT_DOUBLE_EQ(run_clock.energy.joules.value(), 60 * (1200 + 300 + 200 + 400));
}

TEST(FluidFleetTest, WhatDoesNotFitIsStatedAndTheRestServed) {
  FluidOptions options{.target = kTarget};
  options.most_servers = 1;
  const auto fleet = FluidFleet::make(kTwoClocks, load_of({400, 100}), options);
  ASSERT_TRUE(fleet) << fleet.error().text();
  for (const FluidPolicy& policy : fluid_policies()) {
    SCOPED_TRACE(policy.name);
    const FluidReport report = fleet->run(policy);
    EXPECT_EQ(report.peak_servers, 1);
    EXPECT_EQ(report.missed_bins, 1U);
    EXPECT_DOUBLE_EQ(report.unserved_tokens, 200 * 60);
    EXPECT_DOUBLE_EQ(report.bins[0].unserved_tokens, 200 * 60);
    EXPECT_EQ(report.bins[0].power.value(), 600);
    EXPECT_DOUBLE_EQ(report.attainment(), 1 - 200.0 / 500);
  }
}

TEST(FluidFleetTest, LateIsNotDropped) {
  // The lower end of the load is late, as measured profiles have it.
  const ServingProfile profile{{curve(1000, {{100, 200, 2}, {200, 300, 0.5}})}, {}};
  const auto fleet = FluidFleet::make(profile, load_of({50, 200}), {.target = kTarget});
  ASSERT_TRUE(fleet);
  const FluidReport report = run(*fleet, "joint");
  EXPECT_EQ(report.late_tokens, 50 * 60);
  EXPECT_EQ(report.unserved_tokens, 0);
  EXPECT_EQ(report.missed_bins, 1U);
  EXPECT_DOUBLE_EQ(report.attainment(), 0.8);
  EXPECT_DOUBLE_EQ(report.energy.joules.value(), 60 * 500);
  EXPECT_FALSE(report.idle);
}

TEST(FluidFleetTest, ATargetThatNothingMeetsSaysWhatComesNearest) {
  const auto fleet =
      FluidFleet::make(kTwoClocks, load_of({100}), {.target = mean_target(50, 1000)});
  ASSERT_FALSE(fleet);
  EXPECT_EQ(fleet.error().code, ErrorCode::kOutOfRange);
  EXPECT_NE(fleet.error().text().find("2000 MHz at 0 tokens/s, 2 times"), std::string::npos)
      << fleet.error().text();
  LatencyTarget unknown = kTarget;
  unknown.ttft.statistic = LatencyStatistic::kP99;
  EXPECT_NE(FluidFleet::make(kTwoClocks, load_of({100}), {.target = unknown})
                .error()
                .text()
                .find("none of its points knows"),
            std::string::npos);
}

TEST(FluidFleetTest, AnUnboundedDemandIsRefused) {
  EXPECT_EQ(FluidFleet::make(kTwoClocks, load_of({1e12}), {.target = kTarget}).error().code,
            ErrorCode::kOutOfRange);
  ServingProfile backwards = kTwoClocks;
  std::swap(backwards.curves[0].points[0], backwards.curves[0].points[1]);
  EXPECT_EQ(FluidFleet::make(backwards, load_of({1}), {.target = kTarget}).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(FluidFleet::make(kTwoClocks, {}, {.target = kTarget}).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(FluidFleet::make(kTwoClocks, load_of({1}), {.target = kTarget, .most_servers = 0})
                .error()
                .code,
            ErrorCode::kInvalidArgument);
}

TEST(FluidFleetTest, EachClassHasItsPool) {
  LoadCurve load = load_of({100, 100});
  load.classes = {"SS", "LL"};
  for (LoadBin& bin : load.bins) bin.tokens_per_s = {100, 200};
  ServingProfile profile = kTwoClocks;
  profile.curves.push_back(curve(2000, {{0, 50, 0.1}, {200, 60, 0.1}}));
  profile.curves.back().load_class = "SS";
  const auto fleet = FluidFleet::make(profile, load, {.target = kTarget});
  ASSERT_TRUE(fleet) << fleet.error().text();
  const FluidReport report = run(*fleet, "single-pool");
  EXPECT_DOUBLE_EQ(report.energy.joules.value(), 120 * (55 + 600));
  EXPECT_EQ(report.peak_servers, 2);
  ASSERT_EQ(report.shares.size(), 2U);
  EXPECT_DOUBLE_EQ(report.shares[0].share, 0.5);
  EXPECT_DOUBLE_EQ(report.bins[1].power.value(), 655);
}

TEST(FluidFleetTest, AFixedLayoutIsTheOneOfThePeak) {
  ServingProfile profile = kTwoClocks;
  profile.curves.push_back(curve(2000, {{0, 10, 0.1}, {100, 340, 0.1}, {200, 900, 0.1}}));
  profile.curves.back().layout.tensor_parallel = 4;
  profile.curves.back().layout.pipeline_parallel = 2;
  const auto fleet = FluidFleet::make(profile, load_of({200, 0}), {.target = kTarget});
  ASSERT_TRUE(fleet);
  FluidPolicy fixed = *find_policy("single-pool");
  EXPECT_DOUBLE_EQ(fleet->run(fixed).energy.joules.value(), 60 * (600 + 10));
  fixed.layout = LayoutScaling::kFixed;
  EXPECT_DOUBLE_EQ(fleet->run(fixed).energy.joules.value(), 60 * (600 + 150));
}

TEST(FluidPolicyTest, UnknownOnesNameTheKnown) {
  EXPECT_NE(find_policy("none").error().text().find("single-pool, scale-freq"), std::string::npos);
}

/// Eight GPUs an instance, in time everywhere; four, cheaper at high load and late at the lowest.
ServingProfile two_layouts() {
  ServingProfile profile{{curve(800, {{250, 381, 0.5}, {1000, 150, 0.5}}),
                          curve(800, {{250, 100, 1.1}, {1000, 60, 0.1}})},
                         {}};
  profile.curves[0].layout.tensor_parallel = 8;
  profile.curves[1].layout.tensor_parallel = 4;
  return profile;
}

TEST(FluidFleetTest, ServersAtRestThatWouldBeLateAreNotInTime) {
  // Of the layout that is best at the peak the lowest load is late; of the other it is not.
  const ServingProfile profile = two_layouts();
  const auto fleet = FluidFleet::make(profile, load_of({0, 1002.5}), {.target = kTarget});
  ASSERT_TRUE(fleet) << fleet.error().text();
  FluidPolicy policy = *find_policy("single-pool");
  policy.layout = LayoutScaling::kFixed;
  const FluidReport fixed = fleet->run(policy);
  EXPECT_EQ(fixed.missed_bins, 1U);
  EXPECT_EQ(fixed.late_tokens, 0);
  EXPECT_EQ(fleet->run(*find_policy("joint")).missed_bins, 0U);
}

RC_GTEST_PROP(FluidFleetProperty, JointNeverLosesToAnyPolicy, ()) {
  const ServingProfile profile = any_profile();
  std::vector<double> rates;
  const double unit = profile.curves.front().points.front().load;
  const int bins = *rc::gen::inRange(1, 9);
  for (int i = 0; i < bins; ++i) rates.push_back(unit * *rc::gen::inRange(0, 1500) / 100);
  FluidOptions options{.target = kTarget};
  options.epoch = Seconds(60.0 * *rc::gen::inRange(0, 4));
  if (*rc::gen::inRange(0, 3) == 0) options.most_servers = *rc::gen::inRange(1, 6);
  const auto fleet = FluidFleet::make(profile, load_of(rates), options);
  RC_ASSERT(fleet.has_value());
  const FluidReport joint = fleet->run(*find_policy("joint"));
  for (FluidPolicy policy : fluid_policies()) {
    for (const LayoutScaling layout : {LayoutScaling::kFree, LayoutScaling::kFixed}) {
      policy.layout = layout;
      const FluidReport other = fleet->run(policy);
      const double missed = other.unserved_tokens + other.late_tokens;
      const double of_joint = joint.unserved_tokens + joint.late_tokens;
      RC_ASSERT(of_joint <= missed + 1e-9);
      // Who serves less may take less; so may servers at rest that would be late.
      if (missed > 0 || other.missed_bins > 0) continue;
      RC_ASSERT(joint.energy.joules <= other.energy.joules);
    }
  }
}

RC_GTEST_PROP(FluidFleetProperty, EnergyIsTheSumOfItsBins, ()) {
  const ServingProfile profile = any_profile();
  const double unit = profile.curves.front().points.front().load;
  const auto fleet = FluidFleet::make(
      profile, load_of({unit * *rc::gen::inRange(0, 20), unit * *rc::gen::inRange(0, 20)}),
      {.target = kTarget});
  RC_ASSERT(fleet.has_value());
  for (const FluidPolicy& policy : fluid_policies()) {
    const FluidReport report = fleet->run(policy);
    double joules = 0;
    double shares = 0;
    for (const FluidBin& bin : report.bins) joules += (bin.power * bin.duration).value();
    for (const ChoiceShare& share : report.shares) shares += share.share;
    RC_ASSERT(std::abs(joules - report.energy.joules.value()) <= 1e-9 * joules);
    RC_ASSERT(std::abs(shares - 1) <= 1e-12);
    RC_ASSERT(report.peak_servers <= fleet->most_servers());
  }
}

}  // namespace
}  // namespace perjoule
