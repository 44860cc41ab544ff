#include "frontier/rule.h"

#include <gtest/gtest.h>

#include <limits>

namespace perjoule {
namespace {

template <typename T>
T parsed(std::string_view text) {
  const auto rule = parse_rule(text);
  EXPECT_TRUE(rule) << rule.error().text();
  return std::get<T>(*rule);
}

TEST(Rule, ParsesEachWord) {
  EXPECT_DOUBLE_EQ(parsed<Deadline>("deadline=50ms").at_most.value(), 0.05);
  EXPECT_DOUBLE_EQ(parsed<EnergyBudget>("budget=3 kJ").at_most.value(), 3000);
  EXPECT_DOUBLE_EQ(parsed<PowerBudget>("power=300W").at_most.value(), 300);
  EXPECT_DOUBLE_EQ(parsed<MaxSlowdown>("slowdown=1.1").factor, 1.1);
  EXPECT_DOUBLE_EQ(parsed<MaxSlowdown>("slowdown=10%").factor, 1.1);
  EXPECT_DOUBLE_EQ(parsed<EtaCost>("eta=0.25").eta, 0.25);
  EXPECT_DOUBLE_EQ(parsed<EnergyDelay>("edp").exponent, 1);
  EXPECT_DOUBLE_EQ(parsed<EnergyDelay>("edp=2").exponent, 2);
  parsed<Knee>("knee");
}

TEST(Rule, RefusesWhatMakesNoSense) {
  EXPECT_EQ(parse_rule("slowdown=0.1").error().message,
            "slowdown: not a factor of at least 1: '0.1'");
  EXPECT_EQ(parse_rule("eta=2").error().message, "eta: not between 0 and 1: '2'");
  EXPECT_EQ(parse_rule("deadline=-1s").error().message, "deadline: not above zero: '-1s'");
  EXPECT_EQ(parse_rule("deadline=fast").error().message, "not a time: 'fast'");
  EXPECT_EQ(parse_rule("knee=3").error().message, "knee: takes no value: '3'");
  EXPECT_EQ(parse_rule("best").error().message, "unknown rule: 'best'");
  EXPECT_FALSE(parse_rule("edp=-1"));
  EXPECT_FALSE(parse_rule("slowdown=%"));
  EXPECT_FALSE(parse_rule(""));
}

TEST(Rule, ReadsAsWords) {
  EXPECT_EQ(text_of(*parse_rule("power=300W")), "least time, mean power at most 300.0 W");
  EXPECT_EQ(text_of(*parse_rule("slowdown=10%")), "least energy, time at most 1.1 x the fastest");
  EXPECT_EQ(text_of(MaxSlowdown{1.2, "power limit"}),
            "lowest power limit, time at most 1.2 x that at its highest value");
  EXPECT_EQ(text_of(EtaCost{0.5, Watts(250)}), "least cost 0.5 E + 0.5 Pmax t, Pmax 250.0 W");
  EXPECT_EQ(text_of(Deadline{Seconds(std::numeric_limits<double>::infinity())}), "least energy");
}
}  // namespace
}  // namespace perjoule
