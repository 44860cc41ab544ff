#include "meter/sweep.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "device/temp_tree.h"
#include "meter/fake_source.h"

namespace perjoule {
namespace {

TEST(Sweep, CombinationsVaryTheFirstAxisSlowest) {
  const auto configs = combinations({{SweepAxis::Kind::kKnob, "power limit", {"200 W", "300 W"}},
                                     {SweepAxis::Kind::kParameter, "batch", {"8", "16"}}});
  ASSERT_EQ(configs.size(), 4U);
  EXPECT_EQ(configs[1].text(), "power limit 200 W, batch 16");
  EXPECT_EQ(configs[2].text(), "power limit 300 W, batch 8");
}

TEST(Sweep, PlaceholdersAreReplacedAndOthersLeftAlone) {
  const Config config({{"batch", "8"}, {"lr", "{batch}"}});
  EXPECT_EQ(substitute({"--b={batch}", "{x}", "{batch}{batch}"}, config),
            (std::vector<std::string>{"--b=8", "{x}", "88"}));
}

TEST(Sweep, AMisspeltPlaceholderIsSaidAndOtherBracesAreLeftAlone) {
  const std::vector<SweepAxis> axes{{SweepAxis::Kind::kParameter, "batch", {"8"}},
                                    {SweepAxis::Kind::kParameter, "n", {"1"}}};
  const auto refused = check_placeholders({"./train", "--b={bach}"}, axes);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "{bach} in the command is no parameter of this sweep");
  EXPECT_NE(refused.error().remedy.find("{batch}"), std::string::npos);
  for (const char* word : {"{batch}", "{n}", "{m}", "${bach}", "{}", "{ x }", "{\"batc\": 1}",
                           "awk '{print}'", "{model}"})
    EXPECT_TRUE(check_placeholders({word}, axes)) << word;
}

TEST(Sweep, BracesOfAnotherWordOrBesideTheParameterAreTheCommandsOwn) {
  const std::vector<SweepAxis> axes{{SweepAxis::Kind::kParameter, "rate", {"1", "2"}}};
  EXPECT_TRUE(check_placeholders({"sh", "-c", "echo {date}"}, axes));
  EXPECT_TRUE(check_placeholders({"sh", "-c", "echo {rats} {rate}"}, axes));
  EXPECT_TRUE(check_placeholders({"echo {rats}", "--rate={rate}"}, axes));
  EXPECT_FALSE(check_placeholders({"sh", "-c", "echo {rats}"}, axes));
}

TEST(Sweep, PointsAreMeansAndFailuresAreLeftOut) {
  SweepResult result;
  const auto trial = [](const char* batch, double seconds, double joules, int status) {
    SweepTrial one;
    one.config.set("batch", batch);
    one.time = Seconds(seconds);
    one.energy.joules = Joules(joules);
    one.energy.status = Status::kMeasured;
    one.exit_status = status;
    return one;
  };
  result.trials = {trial("8", 1, 10, 0), trial("16", 2, 7, 0), trial("8", 3, 14, 0),
                   trial("16", 1, 1, 1)};
  const auto points = points_of(result);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_DOUBLE_EQ(points[0].time.value(), 2);
  EXPECT_DOUBLE_EQ(points[0].energy.joules.value(), 12);
  EXPECT_DOUBLE_EQ(points[0].energy.random.value(), 2);
  EXPECT_DOUBLE_EQ(points[1].energy.joules.value(), 7);
}

class SweepRunTest : public testing::Test {
 protected:
  TempTree tree_;
  std::string folder_ = tree_.path();
  Inventory machine_;
  RealClock clock_;
};

TEST_F(SweepRunTest, ParametersReachArgumentsAndEnvironmentAndFailuresAreKept) {
  auto journal = KnobJournal::open(folder_, machine_);
  ASSERT_TRUE(journal);
  SweepOptions options;
  options.axes = {{SweepAxis::Kind::kParameter, "code", {"0", "3"}}};
  options.command.spawn.arguments = {"sh", "-c", "test $code = {code} && exit {code}"};
  const auto result = sweep(machine_, clock_, *journal, options, {});
  ASSERT_TRUE(result) << result.error().text();
  ASSERT_EQ(result->trials.size(), 2U);
  EXPECT_EQ(result->trials[0].exit_status, 0);
  EXPECT_EQ(result->trials[1].exit_status, 3);
}

TEST_F(SweepRunTest, WhatWasMeasuredBeforeAFailureIsKept) {
  auto journal = KnobJournal::open(folder_, machine_);
  ASSERT_TRUE(journal);
  SweepOptions options;
  options.axes = {
      {SweepAxis::Kind::kParameter, "program", {"true", "/nonexistent/program", "true"}}};
  options.command.spawn.arguments = {"{program}"};
  const auto result = sweep(machine_, clock_, *journal, options, {});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->trials.size(), 1U);
  ASSERT_FALSE(result->failed);
  EXPECT_NE(result->failed.error().message.find("/nonexistent/program"), std::string::npos);
  options.axes.front().values = {"/nonexistent/program", "true"};
  EXPECT_FALSE(sweep(machine_, clock_, *journal, options, {}));  // nothing was measured
}

TEST_F(SweepRunTest, AKnobNobodyHasIsSaidBeforeAnythingRuns) {
  auto journal = KnobJournal::open(folder_, machine_);
  SweepOptions options;
  options.axes = {{SweepAxis::Kind::kKnob, "power limit", {"200 W"}}};
  options.command.spawn.arguments = {"touch", folder_ + "/ran"};
  const auto result = sweep(machine_, clock_, *journal, options, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kNotSupported);
  EXPECT_FALSE(path_exists(folder_ + "/ran"));
}

TEST(Sweep, ATrialPartOfWhichWentUnseenIsNotAveragedIn) {
  const auto trial = [](const char* limit, double joules, bool bound) {
    SweepTrial made;
    made.config.set("power limit", limit);
    made.time = Seconds(1);
    made.energy.joules = Joules(joules);
    made.energy.status = Status::kMeasured;
    made.energy.lower_bound = bound;
    return made;
  };
  SweepResult result;
  result.trials = {trial("300 W", 10, true), trial("300 W", 100, false), trial("300 W", 12, true),
                   trial("400 W", 20, true)};
  const std::vector<Point> points = points_of(result);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].energy.joules, Joules(100));
  EXPECT_FALSE(points[0].energy.lower_bound);
  EXPECT_TRUE(points[1].energy.lower_bound);
}
}  // namespace
}  // namespace perjoule
