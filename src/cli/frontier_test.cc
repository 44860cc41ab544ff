#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/called_verb.h"
#include "cli/verbs.h"

namespace perjoule::cli {
namespace {

Called call(std::vector<std::string> words) {
  words.insert(words.begin(), "frontier");
  return call_verb({frontier_verb()}, std::move(words));
}

std::string sweep() {
  const std::string path =
      ::testing::TempDir() + "/pj_frontier_sweep-" + std::to_string(getpid()) + ".csv";
  EXPECT_TRUE(write_file_atomically(path,
                                    "host,power_limit,time_s,energy_j,status\n"
                                    "a,250 W,10,1900,measured\n"
                                    "a,200 W,10.2,1670,measured\n"
                                    "a,125 W,11.8,1450,measured\n"
                                    "a,100 W,15.6,1530,measured\n"));
  return path;
}

TEST(FrontierVerb, PrintsTheFrontierAndTheRecommendation) {
  const Called called = call({sweep(), "--deadline", "11s", "--per", "step"});
  EXPECT_EQ(called.status, kDone);
  EXPECT_EQ(called.output,
            "3 of 4 points are on the frontier; all shown have host a\n"
            "\n"
            "   power_limit   time_s  energy_j  mean power   saved  status\n"
            "o  250 W        10.00 s  1.900 kJ     190.0 W   0.0 %  measured\n"
            "*  200 W        10.20 s  1.670 kJ     163.7 W  12.1 %  measured\n"
            "o  125 W        11.80 s  1.450 kJ     122.9 W  23.7 %  measured\n"
            "\n"
            "Recommended (least energy, time at most 11.00 s; 2 of 4 points feasible): power_limit "
            "200 W\n"
            "  10.20 s, 1.670 kJ per step (measured, no uncertainty stated)\n"
            "  saves 12.1 % of the energy at 1.02 x the time of the fastest point (power_limit 250 "
            "W: 10.00 s, 1.900 kJ per step (measured, no uncertainty stated))\n");
}

TEST(FrontierVerb, InfeasibleAnswersOneWithTheNearestMiss) {
  const Called called = call({sweep(), "--deadline", "8s"});
  EXPECT_EQ(called.status, kAnswerIsNo);
  EXPECT_NE(
      called.output.find("nearest: power_limit 250 W: time of 10.00 s, 25.0 % above the limit "
                         "of 8.000 s"),
      std::string::npos)
      << called.output;
}

TEST(FrontierVerb, JsonCarriesTheWholeAnswer) {
  const Called called = call({sweep(), "--deadline", "8s", "--json"});
  EXPECT_EQ(called.status, kAnswerIsNo);
  const auto document = parse_json(called.output);
  ASSERT_TRUE(document);
  EXPECT_EQ(document->string("schema"), "perjoule.frontier.v1");
  const Json& group = document->find("groups")->as_array()->front();
  EXPECT_TRUE(group.find("chosen")->is_null());
  EXPECT_DOUBLE_EQ(*group.find("miss")->number("over"), 0.25);
  EXPECT_EQ(group.find("frontier")->as_array()->size(), 3U);
  const auto fine = parse_json(call({sweep(), "--knee", "--all", "--json"}).output);
  const Json& all = fine->find("groups")->as_array()->front();
  EXPECT_EQ(all.find("points")->as_array()->size(), 4U);
  EXPECT_EQ(all.find("chosen")->find("settings")->string("power_limit"), "200 W");
}

TEST(FrontierVerb, InterpolatesBetweenPowerLimits) {
  const Called called = call({sweep(), "--deadline", "11s", "--interpolate", "power_limit"});
  EXPECT_EQ(called.status, kDone);
  EXPECT_NE(called.output.find("between the points: power_limit 162.5 W: 11.00 s, 1.560 kJ "
                               "(estimated"),
            std::string::npos)
      << called.output;
  EXPECT_EQ(call({sweep(), "--deadline", "11s", "--interpolate", "host"}).status, kMachineCannot);
}

TEST(FrontierVerb, PlotAndGroups) {
  const Called called = call({sweep(), "--plot", "--group-by", "power_limit", "--all"});
  EXPECT_EQ(called.status, kDone);
  EXPECT_NE(called.output.find("== power_limit 125 W"), std::string::npos);
  EXPECT_NE(called.output.find("|*"), std::string::npos);
}

TEST(FrontierVerb, UsageErrorsSayWhatIsWrong) {
  EXPECT_EQ(call({sweep(), "--edp", "--knee"}).complaint,
            "perjoule: frontier: two rules are given: --edp and --knee; give one\n");
  EXPECT_EQ(call({sweep(), "--edp", "--knee"}).status, kUsage);
  EXPECT_EQ(call({sweep(), "--where", "host"}).status, kUsage);
  EXPECT_EQ(call({sweep(), "--where", "host=b"}).status, kUsage);
  EXPECT_EQ(call({sweep(), "--map", "colour=x"}).status, kUsage);
  EXPECT_EQ(call({sweep(), "--max-power", "3W", "--knee"}).status, kUsage);
  EXPECT_EQ(call({sweep(), "--max-power", "0W", "--eta", "0.5"}).status, kUsage);
  EXPECT_EQ(call({sweep(), "--max-power", "-5W", "--eta", "0.5"}).status, kUsage);
  EXPECT_EQ(call({"/nonexistent.csv"}).status, kUsage);
  EXPECT_EQ(call({"--help"}).status, kDone);
}

TEST(FrontierVerb, ALowerBoundIsShownAndLeftOutOfTheChoice) {
  const std::string path =
      ::testing::TempDir() + "/pj_frontier_bounds-" + std::to_string(getpid()) + ".csv";
  EXPECT_TRUE(write_file_atomically(
      path,
      "# perjoule.points.v1\n# unit: \"step\"\n"
      "setting.power limit,time_s,energy_j,random_j,status,bound\n"
      "700 W,1,500,4,measured,\n600 W,1.1,450,4,measured,\n500 W,1.2,90,4,measured,lower\n"));
  const Called shown = call({path, "--edp"});
  EXPECT_EQ(shown.status, kDone);
  EXPECT_NE(shown.output.find("2 of 2 points are on the frontier"), std::string::npos)
      << shown.output;
  EXPECT_NE(
      shown.output.find(
          "Recommended (least energy-delay product; 2 of 2 points feasible): power limit 600"),
      std::string::npos)
      << shown.output;
  EXPECT_NE(shown.output.find("Left out of the choice (?): power limit 500 W: at least 90"),
            std::string::npos)
      << shown.output;
  const Json document = *parse_json(call({path, "--edp", "--json"}).output);
  const Json& group = document.find("groups")->as_array()->front();
  EXPECT_EQ(group.find("left_out")->as_array()->size(), 1U);
  EXPECT_EQ(group.find("frontier")->as_array()->size(), 2U);
}

TEST(FrontierVerb, AnUncertaintyNobodyStatedIsNull) {
  const Json document = *parse_json(call({sweep(), "--json"}).output);
  const Json& group = document.find("groups")->as_array()->front();
  EXPECT_TRUE(group.find("chosen")->find("energy")->find("expanded_j")->is_null());
}
}  // namespace
}  // namespace perjoule::cli
