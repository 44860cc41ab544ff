#include "base/text.h"

#include <gtest/gtest.h>

#include <cmath>

namespace perjoule {
namespace {
using namespace literals;

TEST(Text, WhatRoundsToNothingHasNoSign) {
  EXPECT_EQ(fixed(-1e-9, 2), "0.00");
  EXPECT_EQ(fixed(-0.0, 0), "0");
  EXPECT_EQ(fixed(-0.004, 2), "0.00");
  EXPECT_EQ(fixed(-0.006, 2), "-0.01");
  EXPECT_EQ(fixed(-10, 1), "-10.0");
  EXPECT_EQ(percent(-1e-9), "0.0 %");
  EXPECT_EQ(percent(-0.5, 0), "-50 %");
}

TEST(Text, NumbersAreStrict) {
  EXPECT_EQ(parse_number("1.5e3"), 1500);
  EXPECT_EQ(parse_number("+2"), 2);
  for (const char* bad : {"", " 1", "1 ", "1,5", "nan", "inf", "0x10", "1x", "+-1"}) {
    EXPECT_EQ(parse_number(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(leading_number("300 W"), 300);
}

TEST(Text, ListsGiveTheirWords) {
  EXPECT_EQ(list_words({"a, b", "", "c,,d "}), (std::vector<std::string>{"a", "b", "c", "d"}));
}

TEST(Text, QuantitiesTakeTheirUnits) {
  EXPECT_DOUBLE_EQ(parse_watts("350000mW")->value(), 350);
  EXPECT_DOUBLE_EQ(parse_watts("1.2 kW")->value(), 1200);
  EXPECT_DOUBLE_EQ(parse_joules("5kWh")->value(), 18e6);
  EXPECT_DOUBLE_EQ(parse_seconds("100ms")->value(), 0.1);
  EXPECT_DOUBLE_EQ(parse_seconds("5min")->value(), 300);
  EXPECT_DOUBLE_EQ(parse_clock("1410")->value(), 1410e6);
  EXPECT_DOUBLE_EQ(parse_clock("1.41GHz")->value(), 1410e6);
  const auto bad = parse_watts("300 J");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "not a power: '300 J'");
  EXPECT_NE(bad.error().remedy.find("kW"), std::string::npos);
}

TEST(Text, RangesRunBothWaysAndIncludeTheirEnds) {
  EXPECT_EQ(*parse_range("200:700:100"), (std::vector<double>{200, 300, 400, 500, 600, 700}));
  EXPECT_EQ(*parse_range("300:100:-100"), (std::vector<double>{300, 200, 100}));
  EXPECT_EQ(*parse_range("8,16,32"), (std::vector<double>{8, 16, 32}));
  EXPECT_EQ(parse_range("0:0.3:0.1")->size(), 4U);
  for (const char* bad : {"", "1:2", "1:2:0", "a:b:c", "1,,2", "0:1e9:1"})
    EXPECT_FALSE(parse_range(bad)) << bad;
}

TEST(Text, QuantitiesReadWell) {
  EXPECT_EQ(to_text(1234.0_J), "1.234 kJ");
  EXPECT_EQ(to_text(0.0852_J, 3), "85.2 mJ");
  EXPECT_EQ(to_text(700.0_W, 3), "700 W");
  EXPECT_EQ(to_text(999.96_J), "1.000 kJ");
  EXPECT_EQ(to_text(0.0_J), "0 J");
  EXPECT_EQ(to_text(9.6e-13_J, 3), "960 fJ");
  EXPECT_EQ(to_text(1.607e-15_s), "1.607 fs");
  EXPECT_EQ(with_uncertainty(9.6e-13_J, 1.1e-13_J), "960 +- 110 fJ");
  EXPECT_EQ(to_text(0.0021_s, 2), "2.1 ms");
  EXPECT_EQ(to_text(1200.0_s, 3), "20.0 min");
  EXPECT_EQ(to_text(Seconds(INFINITY)), "inf s");
  EXPECT_EQ(to_text(Joules(-INFINITY)), "-inf J");
  EXPECT_EQ(to_text(megahertz(1410)), "1410 MHz");
}

TEST(Text, UncertaintyDecidesTheDigits) {
  EXPECT_EQ(with_uncertainty(1234.567_J, 23.4_J), "1.235 +- 0.023 kJ");
  EXPECT_EQ(with_uncertainty(700.0_J, 70.0_J), "700 +- 70 J");
  EXPECT_EQ(with_uncertainty(0.0_J, 70.0_J), "0 +- 70 J");
  EXPECT_EQ(with_uncertainty(-0.1_J, 70.0_J), "0 +- 70 J");
}

TEST(Text, CountsAreWrittenAsPeopleSayThem) {
  EXPECT_EQ(counted(1, "step"), "1 step");
  EXPECT_EQ(counted(66, "step"), "66 steps");
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(1e6, "row"), "1000000 rows");
  EXPECT_EQ(counted(2e9, "FLOP"), "2e+09 FLOP");
  EXPECT_EQ(counted(2, "flop"), "2 flop");
  EXPECT_EQ(counted(2, "tokens"), "2 tokens");
  EXPECT_EQ(counted(2, "batch"), "2 batches");
  EXPECT_EQ(counted(2, "epoch"), "2 epochs");
  EXPECT_EQ(counted(2, "query"), "2 queries");
  EXPECT_EQ(counted(2, "day"), "2 days");
  EXPECT_EQ(counted(2, "pass"), "2 passes");
  EXPECT_EQ(counted(2.5, "step"), "2.5 steps");
  EXPECT_EQ(with_article("epoch"), "an epoch");
  EXPECT_EQ(with_article("step"), "a step");
  EXPECT_EQ(with_article("x"), "an x");
  EXPECT_EQ(with_article("u"), "a u");
  EXPECT_EQ(counted(7, "x"), "7 x");
  EXPECT_EQ(with_article("unit"), "a unit");
  EXPECT_EQ(with_article("FLOP"), "a FLOP");
  EXPECT_EQ(with_article("update"), "an update");
}

TEST(Text, WidthCountsCharactersNotBytes) { EXPECT_EQ(display_width("µJ"), 2U); }
TEST(ParseShare, PercentOrNumber) {
  EXPECT_EQ(parse_share("5%"), 0.05);
  EXPECT_EQ(parse_share(" 95 % "), 0.95);
  EXPECT_EQ(parse_share("0.05"), 0.05);
  EXPECT_EQ(parse_share("-3%"), -0.03);
  for (const char* text : {"", "%", "x%", "5%%", "nan%", "1e400", "5 % of it"})
    EXPECT_EQ(parse_share(text), std::nullopt) << text;
}

}  // namespace
}  // namespace perjoule
