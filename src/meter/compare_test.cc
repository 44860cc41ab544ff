#include "meter/compare.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

ComparedRun run(double seconds, double joules, double idle = 0) {
  ComparedRun out;
  out.time = Seconds(seconds);
  out.total.joules = Joules(joules);
  out.total.random = Joules(0.3);
  out.total.systematic = {{"gpu:a/gain", Joules(joules * 0.05)}};
  out.total.status = Status::kMeasured;
  if (idle > 0) {
    out.static_energy = out.total;
    out.static_energy->joules = Joules(idle);
    out.static_energy->systematic = {{"gpu:a/gain", Joules(idle * 0.05)}};
  }
  return out;
}

TEST(Compare, ASharedGainDoesNotHideASmallDifference) {
  // Each figure is +- 70 J by its gain; 700 and 690 J still differ.
  const Comparison difference = compare(run(1, 700), run(1, 690));
  EXPECT_EQ(difference.verdict, Difference::kLess);
  EXPECT_NEAR(difference.relative, -1.0 / 70, 1e-12);
  EXPECT_LT(difference.change.expanded_uncertainty().value(), 1.4);
}

TEST(Compare, AGainIsTheSameFactorInBothAndNeverDecides) {
  ComparedRun a = run(1, 100);
  ComparedRun b = run(1, 50);
  a.total.systematic = {{"gpu:a/gain", Joules(40)}};
  b.total.systematic = {{"gpu:a/gain", Joules(20)}};
  const Comparison half = compare(a, b);
  EXPECT_EQ(half.verdict, Difference::kLess);
  EXPECT_LT(half.relative_half_width, 0.01);
  // A model's error may differ between two loads: there it decides.
  a.total.systematic = {{"cpu:0/package/model", Joules(40)}};
  b.total.systematic = {{"cpu:0/package/model", Joules(20)}};
  EXPECT_EQ(compare(a, b).verdict, Difference::kNone);
}

TEST(Compare, WithinTheUncertaintyThereIsNoDifference) {
  EXPECT_EQ(compare(run(1, 700), run(1, 700.5)).verdict, Difference::kNone);
}

TEST(Compare, AFasterRunThatDoesTheSameWorkWaitsLess) {
  const Comparison faster = compare(run(10, 1000, 400), run(6, 840, 240));
  EXPECT_EQ(faster.kind, "less waiting");
  EXPECT_NEAR(faster.static_change->joules.value(), -160, 1e-9);
  EXPECT_NEAR(faster.dynamic_change->joules.value(), 0, 1e-9);
  EXPECT_EQ(compare(run(10, 1000, 400), run(10, 800, 400)).kind, "less work");
  EXPECT_EQ(compare(run(10, 1000, 400), run(8, 800, 320)).kind, "less work and less waiting");
}

TEST(Compare, RunsThatCountTheSameUnitAreComparedPerUnit) {
  ComparedRun a = run(10, 1000);
  ComparedRun b = run(20, 1800);
  a.units = 100;
  b.units = 200;
  a.unit = b.unit = "step";
  const Comparison result = compare(a, b);
  EXPECT_TRUE(result.per_unit);
  EXPECT_NEAR(result.relative, -0.1, 1e-12);
  EXPECT_DOUBLE_EQ(result.time_ratio, 1);
}

TEST(Compare, AMissingEnergyGivesNoVerdict) {
  ComparedRun a = run(1, 1);
  a.total.status = Status::kMissing;
  EXPECT_EQ(compare(a, run(1, 5)).verdict, Difference::kUnknown);
}

TEST(Compare, ADocumentThatIsNoRunIsNamed) {
  EXPECT_EQ(compared_run(Json::object(), "x.json").error().message,
            "x.json: not a run: no duration_s or no total");
}

TEST(Compare, ALowerBoundNeverSavesAnything) {
  ComparedRun bound = run(1, 500);
  bound.total.lower_bound = true;
  EXPECT_EQ(compare(run(1, 700), bound).verdict, Difference::kUnknown);
  EXPECT_EQ(compare(bound, run(1, 700)).verdict, Difference::kUnknown);
  EXPECT_EQ(compare(bound, bound).verdict, Difference::kUnknown);
  // What is above the other one already can only be more above it.
  EXPECT_EQ(compare(run(1, 400), bound).verdict, Difference::kMore);
  EXPECT_EQ(compare(bound, run(1, 400)).verdict, Difference::kLess);
  EXPECT_TRUE(compare(run(1, 400), bound).change.lower_bound);
}

TEST(Compare, AnotherVersionOfARunIsRefusedAndAnExportOfOneIsRead) {
  const Json run = *parse_json(
      R"({"schema": "perjoule.run.v1", "duration_s": 2, "total": {"joules": 3, "status": "zero"}})");
  Json newer = run;
  newer["schema"] = "perjoule.run.v9";
  const auto refused = compared_run(newer, "x.json");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotSupported);
  EXPECT_NE(refused.error().message.find("x.json: written as perjoule.run.v9"), std::string::npos);
  Json shown = Json::object();
  shown["schema"] = "perjoule.runs.v1";
  shown["runs"] = Json::array();
  Json entry = Json::object();
  entry["document"] = run;
  shown["runs"].push_back(entry);
  EXPECT_EQ(compared_run(shown, "x.json")->time, Seconds(2));
  shown["runs"].push_back(entry);
  EXPECT_EQ(compared_run(shown, "x.json").error().message, "x.json: holds 2 runs, one is compared");
}
}  // namespace
}  // namespace perjoule
