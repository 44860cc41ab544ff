#include "base/config.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {
TEST(Config, SettingTwiceChangesInPlace) {
  Config config({{"power limit", "300 W"}, {"batch", "8"}});
  config.set("power limit", "250 W");
  EXPECT_EQ(config.text(), "power limit 250 W, batch 8");
  EXPECT_EQ(config.number("power limit"), 250);
  EXPECT_EQ(config.number("clock"), std::nullopt);
  EXPECT_EQ(config.find("clock"), nullptr);
}

TEST(Config, OfANameGivenTwiceTheLastValueCounts) {
  const Config config({{"a", "1"}, {"b", "2"}, {"a", "3"}, {"a", "4"}});
  EXPECT_EQ(config.text(), "a 4, b 2");
}
}  // namespace
}  // namespace perjoule
