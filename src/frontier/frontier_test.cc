#include "frontier/frontier.h"

#include <gtest/gtest.h>

#include <limits>

namespace perjoule {
namespace {

using namespace literals;

Point point(double t, double e, const std::string& limit = "") {
  Point made;
  made.time = Seconds(t);
  made.energy.joules = Joules(e);
  made.energy.status = Status::kMeasured;
  if (!limit.empty()) made.config.set("power limit", limit);
  return made;
}

Frontier of(std::vector<Point> points) {
  auto frontier = Frontier::make(std::move(points));
  EXPECT_TRUE(frontier) << frontier.error().text();
  return *frontier;
}

TEST(Frontier, DropsOnlyWhatIsStrictlyWorseOnBothAxes) {
  const Frontier frontier = of({point(3, 5), point(1, 9), point(2, 5), point(2, 7), point(2.5, 6),
                                point(1, 9), point(1, 12), point(4, 5.5)});
  // (2,7) ties in time with (2,5), (3,5) in energy; (1,9) stands twice; (1,12) ties in time.
  EXPECT_EQ(frontier.indices(), (std::vector<std::size_t>{1, 5, 6, 2, 3, 0}));
  EXPECT_EQ(frontier.fastest(), 1U);
  EXPECT_EQ(frontier.candidates(), 8U);
}

TEST(Frontier, MissingPointsAreNoCandidates) {
  Point missing = point(0.5, 0);
  missing.energy.status = Status::kMissing;
  const Frontier frontier = of({missing, point(1, 2)});
  EXPECT_EQ(frontier.candidates(), 1U);
  const Choice choice = *frontier.choose(Deadline{1.0_s});
  EXPECT_EQ(choice.chosen, 1U);
  EXPECT_EQ(choice.feasible, 1U);
  EXPECT_EQ(Frontier::make({missing}).error().message, "frontier: no point has an energy");
}

TEST(Frontier, RefusesWhatIsNoFigure) {
  EXPECT_EQ(Frontier::make({point(1, 1), point(0, 1, "300 W")}).error().message,
            "point 2 [power limit 300 W]: time is not above zero: 0 s");
  EXPECT_FALSE(Frontier::make({point(1, -1)}));
  EXPECT_FALSE(Frontier::make({point(std::numeric_limits<double>::quiet_NaN(), 1)}));
  EXPECT_FALSE(Frontier::make({}));
}

/// 250 W is the fastest, 100 W slower and worse than 125 W.
std::vector<Point> sweep() {
  return {point(10.0, 1900, "250 W"), point(10.2, 1670, "200 W"), point(11.8, 1450, "125 W"),
          point(15.6, 1530, "100 W")};
}

TEST(Choose, TwoPointsHaveNoKneeAndSaySo) {
  const auto two = [](double slow_energy) { return of({point(1, 100), point(2, slow_energy)}); };
  const Choice frugal = *two(40).choose(Knee{});
  EXPECT_EQ(frugal.chosen, 1U);  // 80 J s against 100
  EXPECT_EQ(frugal.rule, "least energy-delay product");
  EXPECT_NE(frugal.note.find("three points"), std::string::npos);
  EXPECT_EQ(two(60).choose(Knee{})->chosen, 0U);
  EXPECT_EQ(two(60).choose(EnergyDelay{})->note, "");
  // A dominated point and an equal one are no third; a point alone needs no word.
  EXPECT_NE(of({point(1, 100), point(2, 40), point(3, 50), point(2, 40)}).choose(Knee{})->note, "");
  EXPECT_EQ(of({point(1, 100), point(2, 120)}).choose(Knee{})->note, "");
  EXPECT_EQ(of({point(1, 100), point(2, 40), point(4, 39)}).choose(Knee{})->note, "");
}

TEST(Choose, EveryRuleFindsItsPoint) {
  const Frontier frontier = of(sweep());
  EXPECT_EQ(frontier.choose(Deadline{11.0_s})->chosen, 1U);
  EXPECT_EQ(frontier.choose(EnergyBudget{1600.0_J})->chosen, 2U);
  EXPECT_EQ(frontier.choose(PowerBudget{170.0_W})->chosen, 1U);
  // Only the dominated point draws less than 100 W: it must still be found.
  EXPECT_EQ(frontier.choose(PowerBudget{100.0_W})->chosen, 3U);
  EXPECT_EQ(frontier.choose(EtaCost{0, {}})->chosen, 0U);
  EXPECT_EQ(frontier.choose(EtaCost{1, {}})->chosen, 2U);
  EXPECT_EQ(frontier.choose(MaxSlowdown{1.1, {}})->chosen, 1U);
  EXPECT_EQ(frontier.choose(MaxSlowdown{2, {}})->chosen, 2U);
  // Zeus's reading: the lowest limit that is quick enough, though it is not of least energy.
  EXPECT_EQ(frontier.choose(MaxSlowdown{2, "power limit"})->chosen, 3U);
  EXPECT_EQ(frontier.choose(EnergyDelay{1})->chosen, 1U);  // 17034 below 17110
  EXPECT_EQ(frontier.choose(EnergyDelay{0})->chosen, 2U);
  EXPECT_EQ(frontier.choose(Knee{})->chosen, 1U);
}

TEST(Choose, SaysWhatItSavesAgainstTheFastest) {
  const Choice choice = *of(sweep()).choose(Deadline{11.0_s});
  EXPECT_EQ(choice.baseline, 0U);
  EXPECT_EQ(choice.candidates, 4U);
  EXPECT_EQ(choice.feasible, 2U);
  EXPECT_DOUBLE_EQ(choice.energy_saved, 1 - 1670.0 / 1900);
  EXPECT_DOUBLE_EQ(choice.slowdown, 1.02);
  EXPECT_FALSE(choice.miss);
  EXPECT_EQ(choice.rule, "least energy, time at most 11.00 s");
}

TEST(Choose, InfeasibleNamesTheNearestMiss) {
  const Frontier frontier = of(sweep());
  const Choice slow = *frontier.choose(Deadline{8.0_s});
  ASSERT_TRUE(slow.miss);
  EXPECT_EQ(slow.feasible, 0U);
  EXPECT_EQ(slow.miss->nearest, 0U);
  EXPECT_EQ(slow.miss->quantity, "time");
  EXPECT_DOUBLE_EQ(slow.miss->over, 0.25);
  const Choice hungry = *frontier.choose(EnergyBudget{1000.0_J});
  EXPECT_EQ(hungry.miss->nearest, 2U);
  EXPECT_DOUBLE_EQ(hungry.miss->reached, 1450);
  const Choice strong = *frontier.choose(PowerBudget{50.0_W});
  EXPECT_EQ(strong.miss->nearest, 3U);
  EXPECT_EQ(strong.miss->quantity, "power");
}

// One GPU's limit lowered at the others' pace: 0.3 % more time is what the windows differ by.
TEST(Choose, ABoundOfTimeIsMetWithinWhatIsMeasured) {
  const auto chosen = [](double over, double fastest_sigma, double sigma, const Rule& rule) {
    std::vector<Point> points = {point(1, 100, "300 W"), point(over, 90, "200 W")};
    points[0].time_random = Seconds(fastest_sigma);
    points[1].time_random = Seconds(sigma);
    const auto choice = of(points).choose(rule);
    EXPECT_EQ(choice->note.empty(), choice->chosen == 0);
    EXPECT_FALSE(choice->miss);
    return choice->chosen;
  };
  for (const Rule& rule : {Rule(MaxSlowdown{1, {}}), Rule(MaxSlowdown{1, "power limit"})}) {
    EXPECT_EQ(chosen(1.003, 0.001, 0.0012, rule), 1U);  // 2 x 0.0016
    EXPECT_EQ(chosen(1.003, 0.001, 0.001, rule), 0U);   // 2 x 0.0014
    EXPECT_EQ(chosen(1.003, 0, 0, rule), 0U);           // nobody knows: strict
    EXPECT_EQ(chosen(1.011, 0.05, 0.05, rule), 0U);     // never more than a hundredth
  }
  EXPECT_EQ(chosen(1.003, 1, 0.0016, Deadline{Seconds(1)}), 1U);
  EXPECT_EQ(chosen(1.003, 1, 0.0014, Deadline{Seconds(1)}), 0U);
  // What misses by more is the nearest miss, as ever.
  std::vector<Point> points = {point(1, 100)};
  points[0].time_random = Seconds(0.001);
  const auto miss = of(points).choose(Deadline{Seconds(0.9)});
  ASSERT_TRUE(miss->miss);
  EXPECT_NEAR(miss->miss->over, 1 / 0.9 - 1, 1e-12);
}

TEST(Choose, PowerComesFromTheRateWhereWorkIsBatched) {
  Point batched = point(0.05, 2);
  batched.rate = 100;  // tokens a second over the batch
  EXPECT_DOUBLE_EQ(mean_power(batched).value(), 200);
  EXPECT_EQ(of({batched}).choose(PowerBudget{150.0_W})->feasible, 0U);
  EXPECT_EQ(of({batched}).choose(PowerBudget{200.0_W})->feasible, 1U);
}

TEST(Choose, KneeOfAStraightOrSinglePointFrontierIsTheFastest) {
  EXPECT_EQ(of({point(3, 1), point(2, 2), point(1, 3)}).choose(Knee{})->chosen, 2U);
  EXPECT_EQ(of({point(3, 1)}).choose(Knee{})->chosen, 0U);
  EXPECT_EQ(of({point(2, 1), point(1, 1)}).choose(Knee{})->chosen, 1U);
}

TEST(Choose, BySettingNeedsNumbers) {
  std::vector<Point> points = sweep();
  points[1].config.set("power limit", "auto");
  EXPECT_EQ(of(points).choose(MaxSlowdown{1.1, "power limit"}).error().message,
            "point 2 [power limit auto]: setting 'power limit' is not a number");
}

TEST(NumericSetting, ANumberAndAtMostAUnit) {
  const Config config({{"a", "300 W"},
                       {"b", "1e3"},
                       {"c", "8bit-v2"},
                       {"d", "2024-11-03"},
                       {"e", "bf16"},
                       {"f", ""},
                       {"g", "50%"}});
  EXPECT_EQ(numeric_setting(config, "a"), 300);
  EXPECT_EQ(numeric_setting(config, "b"), 1000);
  EXPECT_EQ(numeric_setting(config, "g"), 50);
  for (const char* name : {"c", "d", "e", "f", "none"})
    EXPECT_EQ(numeric_setting(config, name), std::nullopt) << name;
}

TEST(Frontier, ALowerBoundNeverWins) {
  Point bound = point(0.5, 1, "300 W");
  bound.energy.lower_bound = true;
  const Frontier frontier = of({bound, point(1, 2, "400 W"), point(2, 1.5, "350 W")});
  EXPECT_EQ(frontier.candidates(), 2U);
  EXPECT_EQ(frontier.fastest(), 1U);
  EXPECT_EQ(frontier.choose(EnergyDelay{})->chosen, 1U);
  EXPECT_EQ(frontier.choose(MaxSlowdown{2.0, ""})->chosen, 2U);
  EXPECT_NE(Frontier::make({bound}).error().message.find("lower bounds"), std::string::npos);
}
}  // namespace
}  // namespace perjoule
