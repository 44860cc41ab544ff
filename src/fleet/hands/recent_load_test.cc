#include "fleet/hands/recent_load.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

TEST(RecentLoad, ExpectsTheHighestOfTheLastWhile) {
  const auto forecast = recent_load(Seconds(10));
  EXPECT_EQ(forecast->peak(Seconds(0), Seconds(10)), ClassLoads{});
  forecast->observe(Seconds(0), {300, 1});
  forecast->observe(Seconds(5), {100, 2});
  EXPECT_EQ(forecast->peak(Seconds(5), Seconds(15)), (ClassLoads{300, 2}));
  forecast->observe(Seconds(11), {50, 0});
  EXPECT_EQ(name_of(forecast->basis(Seconds(11), Seconds(21), 0)), "recent");
  EXPECT_EQ(forecast->peak(Seconds(11), Seconds(21)), (ClassLoads{100, 2}));
}

}  // namespace
}  // namespace perjoule
