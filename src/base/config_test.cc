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
  EXPECT_EQ(config.find("clock"), std::nullopt);
}

TEST(Config, OfANameGivenTwiceTheLastValueCounts) {
  const Config config({{"a", "1"}, {"b", "2"}, {"a", "3"}, {"a", "4"}});
  EXPECT_EQ(config.text(), "a 4, b 2");
}

TEST(Config, KeepsValuesOfAnyLengthAndContent) {
  for (const std::size_t length : {0U, 1U, 254U, 255U, 256U, 100'000U}) {
    const std::string value(length, '\xFF');
    Config config({{"a", value}, {"b", std::string_view("x\0:7", 4)}});
    EXPECT_EQ(config.find("a"), value);
    EXPECT_EQ(config.find("b"), std::string_view("x\0:7", 4));
    config.set("a", "1");
    EXPECT_EQ(config.text().substr(0, 4), "a 1,");
  }
}

TEST(Config, IsEqualByNamesAndValuesHoweverItWasMade) {
  const auto names =
      std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"batch", "limit"});
  const Config shared(names, {"8", "300 W"});
  Config built;
  built.set("batch", "8");
  built.set("limit", "300 W");
  EXPECT_EQ(shared, built);
  EXPECT_EQ(shared.hash(), built.hash());
  built.set("limit", "300");
  EXPECT_NE(shared, built);
  EXPECT_NE(Config({{"a", "8"}, {"b", "1"}}), Config({{"a", "8"}, {"c", "1"}}));
  EXPECT_EQ(Config(), Config(std::vector<Setting>()));
}
}  // namespace
}  // namespace perjoule
