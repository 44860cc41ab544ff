#include "fleet/plan/server_curves.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <limits>

#include "fleet/plan/test_profiles.h"
#include "fleet/plan/unequal_split.h"

namespace perjoule {
namespace {

const LatencyTarget kTarget = mean_target(1000, 1000);

ProfileCurve curve(int tp, double clock, std::vector<std::array<double, 3>> points) {
  ProfileCurve one{{"m", "g", tp, 1}, clock, "", {}, Status::kMeasured, "t"};
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

TEST(ServerCurvesTest, SmallLayoutsStandOnAServerSeveralTimes) {
  const ServingProfile profile{{curve(8, 1000, {{100, 800, 0.5}, {400, 1600, 0.5}}),
                                curve(2, 1000, {{100, 150, 0.5}, {200, 390, 0.5}})},
                               {}};
  const auto servers = ServerCurves::make(profile, kTarget);
  ASSERT_TRUE(servers) << servers.error().text();
  EXPECT_EQ(servers->gpus(), 8);
  EXPECT_EQ(servers->instances(1), 4);
  // Four instances at 100 each.
  const auto use = servers->cheapest(400, {});
  ASSERT_TRUE(use);
  EXPECT_EQ(use->curve, 1U);
  EXPECT_DOUBLE_EQ(use->power.value(), 600);
  EXPECT_DOUBLE_EQ(*servers->highest_load({}), 800);
  EXPECT_DOUBLE_EQ(*servers->highest_load({.layout = 0}), 400);
  EXPECT_DOUBLE_EQ(servers->cheapest(400, {.layout = 0})->power.value(), 1600);
}

TEST(ServerCurvesTest, TheHighestLoadLiesBetweenPointsWhereALatencyBinds) {
  const ServingProfile profile{{curve(1, 1000, {{100, 100, 0.5}, {200, 200, 1.5}})}, {}};
  const auto servers = ServerCurves::make(profile, kTarget);
  ASSERT_TRUE(servers);
  EXPECT_NEAR(*servers->highest_load({}), 150, 1e-6);
  EXPECT_TRUE(servers->cheapest(*servers->highest_load({}), {}));
  EXPECT_EQ(*servers->highest_load({.late = true}), 200);
  EXPECT_EQ(*servers->highest_load({}, 120), 120);
  EXPECT_EQ(*servers->highest_load({}, 20), 20);
  EXPECT_FALSE(servers->cheapest(160, {}));
  EXPECT_TRUE(servers->cheapest(160, {.late = true}));
  EXPECT_EQ(fewest_servers(*servers, 301, 10, {}), 3);
  EXPECT_EQ(fewest_servers(*servers, 301, 2, {}), 0);
}

TEST(ServerCurvesTest, ALayoutThatDoesNotFillAServerIsLeftOutAndSaid) {
  const ServingProfile profile{
      {curve(8, 1000, {{100, 100, 0.5}}), curve(3, 1000, {{100, 10, 0.5}})}, {}};
  const auto servers = ServerCurves::make(profile, kTarget);
  ASSERT_TRUE(servers);
  EXPECT_EQ(servers->size(), 1U);
  ASSERT_EQ(servers->notes().size(), 1U);
  EXPECT_NE(servers->notes().front().find("tp3"), std::string::npos);
}

TEST(ServerCurvesTest, OneModelOneGpuOneClass) {
  ServingProfile profile{{curve(1, 1000, {{100, 100, 0.5}}), curve(1, 1200, {{100, 100, 0.5}})},
                         {}};
  profile.curves[1].layout.gpu = "other";
  EXPECT_EQ(ServerCurves::make(profile, kTarget).error().remedy, "choose one: --gpu");
  profile.curves[1].layout = {"other", "g", 1, 1};
  EXPECT_EQ(ServerCurves::make(profile, kTarget).error().remedy, "choose one: --model");
  profile.curves[1].layout = profile.curves[0].layout;
  profile.curves[1].load_class = "SS";
  EXPECT_EQ(ServerCurves::make(profile, kTarget).error().remedy, "choose one: --class");
  profile.curves[1].points.clear();
  EXPECT_EQ(ServerCurves::make(profile, kTarget).error().code, ErrorCode::kInvalidArgument);
}

/// The least power of n servers whose loads are multiples of `step` but for one: from the
/// definition.
double least_power(const ServerCurves& servers, int n, double load, double step) {
  double best = std::numeric_limits<double>::infinity();
  const std::function<void(int, double, double)> go = [&](int left, double rest, double power) {
    if (left == 1) {
      const auto use = servers.cheapest(rest, {});
      if (use) best = std::min(best, power + use->power.value());
      return;
    }
    for (int i = 0; i * step <= rest + 1e-9; ++i) {
      const auto use = servers.cheapest(i * step, {});
      if (use) go(left - 1, std::max(0.0, rest - i * step), power + use->power.value());
    }
  };
  go(n, load, 0);
  if (const auto equal = servers.cheapest(load / n, {}))
    best = std::min(best, equal->power.value() * n);
  return best;
}

RC_GTEST_PROP(UnequalSplitProperty, IsTheLeastPowerOfAllGridLoads, ()) {
  const ServingProfile profile = any_profile();
  const auto servers = ServerCurves::make(profile, kTarget);
  RC_ASSERT(servers.has_value());
  const UnequalSplit split(*servers, 3);
  const int n = *rc::gen::inRange(1, 4);
  const double load = *servers->highest_load({}) * n * *rc::gen::inRange(0, 101) / 100;
  const double wanted = least_power(*servers, n, load, split.step());
  const auto power = split.power(n, load);
  RC_ASSERT(power.has_value() == std::isfinite(wanted));
  if (!power) return;
  RC_ASSERT(std::abs(power->value() - wanted) <= 1e-9 * wanted);
  const auto parts = split.split(n, load);
  RC_ASSERT(parts.has_value());
  RC_ASSERT(parts->power == *power);
  int count = 0;
  for (const SplitPart& part : parts->parts) count += part.servers;
  RC_ASSERT(count == n);
}

}  // namespace
}  // namespace perjoule
