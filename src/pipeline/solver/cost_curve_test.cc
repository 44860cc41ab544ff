#include "pipeline/solver/cost_curve.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace perjoule {
namespace {

TEST(FallingHull, KeepsTheCornersBelowTheRest) {
  const auto hull = falling_hull({{40, 1.0}, {10, 10}, {20, 6}, {30, 5.9}, {20, 7}, {50, 2}});
  ASSERT_EQ(hull.size(), 3U);  // 30 lies above the line from 20 to 40, 50 is slower and dearer
  EXPECT_EQ(hull[0].duration, 10);
  EXPECT_EQ(hull[1].duration, 20);
  EXPECT_EQ(hull[1].cost, 6);
  EXPECT_EQ(hull[2].duration, 40);
}

TEST(FallingHull, OnePointIsACurveThatCannotBeChanged) {
  const auto hull = falling_hull({{10, -3}});
  ASSERT_EQ(hull.size(), 1U);
  CurveSet curves;
  curves.add(hull, 5);
  ASSERT_TRUE(curves.seal());
  EXPECT_EQ(curves.slopes(0)[0], CurveSet::kUnlimited);
  EXPECT_EQ(curves.cost(0, 10), -3);
  EXPECT_EQ(curves.cost(0, 1000), -3);
}

TEST(CurveSet, CostIsLinearBetweenCornersAndFlatBehindTheLast) {
  CurveSet curves;
  const std::vector<CostPoint> corners = {{10, 10}, {20, 6}, {40, 1}};
  curves.add(corners, 1);
  ASSERT_TRUE(curves.seal());
  EXPECT_DOUBLE_EQ(curves.cost(0, 15), 8);
  EXPECT_DOUBLE_EQ(curves.cost(0, 30), 3.5);
  EXPECT_DOUBLE_EQ(curves.cost(0, 99), 1);
  EXPECT_NEAR(static_cast<double>(curves.slopes(0)[1]) * curves.unit(), 0.4, 1e-15);
}

TEST(CurveSet, RefusesDurationsThatOverflow) {
  CurveSet curves;
  const std::vector<CostPoint> corners = {{Ticks{1} << 60, 10}};
  curves.add(corners, 4);
  const auto sealed = curves.seal();
  ASSERT_FALSE(sealed);
  EXPECT_EQ(sealed.error().code, ErrorCode::kOutOfRange);
}

RC_GTEST_PROP(CurveSet, SlopesFallAndNoSumOfThemOverflows, ()) {
  CurveSet curves;
  const int count = *rc::gen::inRange(1, 6);
  std::vector<std::uint64_t> uses;
  for (int c = 0; c < count; ++c) {
    const auto raw = *rc::gen::container<std::vector<std::pair<int, int>>>(
        rc::gen::pair(rc::gen::inRange(1, 1'000'000), rc::gen::inRange(-1'000'000, 1'000'000)));
    std::vector<CostPoint> points = {{1, 2e6}};
    for (const auto& [duration, cost] : raw) points.push_back({duration, cost * 1e-3});
    uses.push_back(*rc::gen::inRange<std::uint64_t>(1, 100'000));
    curves.add(falling_hull(points), uses.back());
  }
  RC_ASSERT(curves.seal());
  long double steepest = 0;
  for (std::uint32_t c = 0; c < curves.size(); ++c) {
    const auto slopes = curves.slopes(c);
    for (std::size_t k = 1; k < slopes.size(); ++k) RC_ASSERT(slopes[k] < slopes[k - 1]);
    if (slopes.size() > 1) RC_ASSERT(slopes.back() > 0);
    if (slopes.size() > 1) steepest += static_cast<long double>(slopes[1]) * uses[c];
  }
  RC_ASSERT(steepest < static_cast<long double>(CurveSet::kUnlimited));
}

}  // namespace
}  // namespace perjoule
