#include "server/node/power_part.h"

#include <gtest/gtest.h>

#include <cmath>

namespace perjoule {
namespace {

constexpr std::int64_t kT0 = 1'800'000'000'000'000'000;
constexpr std::int64_t kT0Ms = kT0 / 1'000'000;

TEST(PowerPartTest, ThinsOutToWhatWasAskedFor) {
  std::vector<float> watts(1000);
  for (std::size_t i = 0; i < watts.size(); ++i) watts[i] = static_cast<float>(i);
  const auto part = decimated(watts, kT0, Seconds(0.1), kT0Ms, kT0Ms + 100'000, 10);
  ASSERT_TRUE(part) << part.error().text();
  ASSERT_EQ(part->mean.size(), 10U);
  EXPECT_EQ(part->step, Seconds(10));
  EXPECT_EQ(part->mean[0], 49.5F);
  EXPECT_EQ(part->least[9], 900);
  EXPECT_EQ(part->most[9], 999);
  const auto detail = decimated(watts, kT0, Seconds(0.1), kT0Ms + 50'000, kT0Ms + 51'000, 800);
  ASSERT_TRUE(detail);
  EXPECT_EQ(detail->mean.size(), 10U) << "never more than there are";
  EXPECT_EQ(detail->from_unix_ms, kT0Ms + 50'000);
  EXPECT_EQ(detail->mean[0], 500);
}

TEST(PowerPartTest, PartsBesideTheCourseAreEmpty) {
  const std::vector<float> watts(10, 1.0F);
  for (const auto& [from, to] :
       {std::pair{kT0Ms - 5000, kT0Ms - 4000}, {kT0Ms + 20'000, kT0Ms + 21'000}}) {
    const auto part = decimated(watts, kT0, Seconds(1), from, to, 10);
    ASSERT_TRUE(part);
    EXPECT_TRUE(part->mean.empty());
  }
  EXPECT_TRUE(decimated({}, kT0, Seconds(1), kT0Ms, kT0Ms + 1, 10)->mean.empty());
  EXPECT_EQ(decimated(watts, kT0, Seconds(0), kT0Ms, kT0Ms + 1, 10).error().code,
            ErrorCode::kDataLoss);
}

TEST(PowerPartTest, WhatIsNotKnownIsNull) {
  const auto part = decimated({NAN, NAN, 3, NAN}, kT0, Seconds(1), kT0Ms, kT0Ms + 4000, 2);
  ASSERT_TRUE(part);
  const Json json = to_json(*part, "s", "gpu:0");
  EXPECT_EQ(json.dump(),
            "{\"schema\":\"s\",\"source\":\"gpu:0\",\"from_unix_ms\":1800000000000,\"step_s\":2.0,"
            "\"mean_w\":[null,3.0],\"least_w\":[null,3.0],\"most_w\":[null,3.0]}");
}

}  // namespace
}  // namespace perjoule
