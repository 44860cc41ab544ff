#include "frontier/repeats.h"

#include <gtest/gtest.h>

#include <cmath>

namespace perjoule {
namespace {

Point run(const std::string& batch, double t, double e, std::size_t origin) {
  Point point;
  if (!batch.empty()) point.config.set("batch", batch);
  point.time = Seconds(t);
  point.energy.joules = Joules(e);
  point.energy.systematic = {{"gpu:0/gain", Joules(0.03 * e)}};
  point.energy.status = Status::kMeasured;
  point.energy.source = "gpu:0";
  point.origin = origin;
  return point;
}

TEST(Repeats, MeansWithTheStandardErrorOfTheirSpread) {
  const auto points = average_repeats(
      {run("8", 1, 100, 1), run("16", 2, 50, 2), run("8", 3, 110, 3), run("8", 2, 90, 4)});
  ASSERT_EQ(points.size(), 2U);
  EXPECT_DOUBLE_EQ(points[0].time.value(), 2);
  EXPECT_DOUBLE_EQ(points[0].energy.joules.value(), 100);
  EXPECT_DOUBLE_EQ(points[0].energy.random.value(), 10 / std::sqrt(3));
  // The sensor's gain is the same error in each run and does not average away.
  EXPECT_DOUBLE_EQ(points[0].energy.systematic[0].sigma.value(), 3);
  EXPECT_EQ(points[0].energy.source, "gpu:0");
  EXPECT_EQ(points[0].origin, 1U);
  EXPECT_EQ(points[1].energy.joules.value(), 50);
}

TEST(Repeats, EqualRunsKeepWhatEachCarries) {
  Point a = run("8", 1, 100, 1);
  a.energy.random = Joules(4);
  const auto points = average_repeats({a, a});
  EXPECT_DOUBLE_EQ(points[0].energy.random.value(), 4 / std::sqrt(2));
}

TEST(Repeats, AMissingRunIsLeftOut) {
  Point lost = run("8", 9, 0, 1);
  lost.energy = Energy::missing("gpu:0");
  const auto points = average_repeats({lost, run("8", 1, 100, 2), run("8", 1, 104, 3)});
  ASSERT_EQ(points.size(), 1U);
  EXPECT_DOUBLE_EQ(points[0].energy.joules.value(), 102);
  EXPECT_DOUBLE_EQ(points[0].time.value(), 1);
  EXPECT_EQ(average_repeats({lost, lost})[0].energy.status, Status::kMissing);
}

TEST(Repeats, ManyConfigsInAnyOrderFindTheirOwn) {
  RepeatCollector repeats;
  for (std::size_t round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < 5000; ++i) {
      const std::size_t config = (i * 7919) % 5000;
      repeats.add(run(std::to_string(config), 1, 100.0 + static_cast<double>(config), i + 1));
    }
  }
  const auto points = std::move(repeats).take();
  ASSERT_EQ(points.size(), 5000U);
  for (const Point& point : points) {
    EXPECT_NEAR(point.energy.joules.value(), 100 + *point.config.number("batch"), 1e-9);
    EXPECT_NEAR(point.energy.random.value(), 0, 1e-9);
  }
  RepeatCollector all(false);
  all.add(run("8", 1, 1, 1));
  all.add(run("8", 1, 1, 2));
  EXPECT_EQ(std::move(all).take().size(), 2U);
}

TEST(Repeats, PointsWithoutSettingsStay) {
  EXPECT_EQ(average_repeats({run("", 1, 1, 1), run("", 1, 1, 2)}).size(), 2U);
}

TEST(Repeats, ALowerBoundYieldsToAFigure) {
  Point bound = run("8", 1, 40, 1);
  bound.energy.lower_bound = true;
  for (const auto& points : {average_repeats({bound, run("8", 1, 100, 2)}),
                             average_repeats({run("8", 1, 100, 2), bound})}) {
    ASSERT_EQ(points.size(), 1U);
    EXPECT_EQ(points[0].energy.joules, Joules(100));
    EXPECT_FALSE(points[0].energy.lower_bound);
  }
  EXPECT_TRUE(average_repeats({bound, bound})[0].energy.lower_bound);
}
}  // namespace
}  // namespace perjoule
