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
}  // namespace
}  // namespace perjoule
