#include "server/http/rate_limit.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

TEST(RateLimitTest, ABurstAndThenTheRate) {
  RateLimit limit({.per_second = 10, .burst = 3});
  const Instant start{1'000'000'000};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.take("a", start), Seconds(0));
  EXPECT_NEAR(limit.take("a", start).value(), 0.1, 1e-9);
  EXPECT_EQ(limit.take("b", start), Seconds(0)) << "each has its own";
  EXPECT_NEAR(limit.take("a", start + Seconds(0.05)).value(), 0.05, 1e-9);
  EXPECT_EQ(limit.take("a", start + Seconds(0.1)), Seconds(0));
  int taken = 0;
  for (int i = 1; i <= 1000; ++i) {
    if (limit.take("a", start + Seconds(0.1 + i * 0.01)) == Seconds(0)) ++taken;
  }
  EXPECT_NEAR(taken, 100, 1);
}

TEST(RateLimitTest, NoRateIsNoLimit) {
  RateLimit limit({});
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(limit.take("a", Instant{}), Seconds(0));
}

TEST(RateLimitTest, ManyNamesAreForgottenOnceTheyAreFull) {
  RateLimit limit({.per_second = 1, .burst = 1});
  for (int i = 0; i < 10'000; ++i) {
    limit.take("user" + std::to_string(i), Instant{} + Seconds(i * 0.01));
  }
  EXPECT_GT(limit.take("user9999", Instant{} + Seconds(100)), Seconds(0)) << "not the latest";
}

}  // namespace
}  // namespace perjoule
