#include "frontier/interpolate.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

using namespace literals;

Point point(double t, double e, const std::string& limit, const std::string& batch = "8") {
  Point made;
  made.time = Seconds(t);
  made.energy.joules = Joules(e);
  made.energy.random = Joules(3);
  made.energy.status = Status::kMeasured;
  made.config = Config({{"power limit", limit}, {"batch", batch}});
  return made;
}

Frontier sweep() {
  return *Frontier::make({point(10, 1900, "250 W"), point(12, 1500, "150 W"),
                          point(16, 1400, "100 W"), point(20, 1450, "75 W")});
}

TEST(Interpolate, IsLinearBetweenNeighboursAndAnEstimate) {
  const auto between = interpolate(sweep(), "power limit", 200);
  ASSERT_TRUE(between) << between.error().text();
  EXPECT_DOUBLE_EQ(between->time.value(), 11);
  EXPECT_DOUBLE_EQ(between->energy.joules.value(), 1700);
  EXPECT_EQ(between->energy.status, Status::kEstimated);
  EXPECT_GT(between->energy.random.value(), 0);
  EXPECT_EQ(between->config.text(), "power limit 200 W, batch 8");
}

TEST(Interpolate, FindsTheSettingThatJustMeetsADeadline) {
  const auto just = interpolate_at_time(sweep(), "power limit", 13.0_s);
  ASSERT_TRUE(just);
  EXPECT_EQ(just->config.text(), "power limit 137.5 W, batch 8");
  EXPECT_DOUBLE_EQ(just->energy.joules.value(), 1475);
}

TEST(Interpolate, AMeasuredPointStaysMeasured) {
  EXPECT_EQ(interpolate(sweep(), "power limit", 150)->energy.status, Status::kMeasured);
}

TEST(Interpolate, RefusesWhereItMeansNothing) {
  EXPECT_EQ(interpolate(sweep(), "power limit", 90).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(interpolate(sweep(), "clock", 1).error().code, ErrorCode::kNotSupported);
  const auto words = Frontier::make({point(1, 3, "low"), point(2, 2, "high")});
  EXPECT_EQ(interpolate(*words, "power limit", 1).error().message,
            "setting 'power limit' is not a number at [power limit low, batch 8]");
  const auto two = Frontier::make({point(1, 3, "300 W"), point(2, 2, "200 W", "16")});
  EXPECT_EQ(interpolate(*two, "power limit", 250).error().code, ErrorCode::kNotSupported);
  const auto back =
      Frontier::make({point(1, 3, "300 W"), point(2, 2, "200 W"), point(3, 1, "250 W")});
  EXPECT_EQ(interpolate(*back, "power limit", 250).error().message,
            "time does not move one way with 'power limit' along the frontier");
}
}  // namespace
}  // namespace perjoule
