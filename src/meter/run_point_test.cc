#include "meter/run_point.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

Json document(double units, const std::string& unit) {
  Json json = *parse_json(R"({
    "schema": "perjoule.run.v1", "duration_s": 20, "command": ["./train", "--batch", "32"],
    "host": "h", "project": "p", "tag": "final", "exit_status": 0,
    "total": {"joules": 1000, "expanded_j": 50, "random_j": 7, "status": "simulated + estimated",
              "systematic": [{"sensor": "gpu:0/gain", "sigma_j": 24}],
              "boundary": "B1", "source": "gpu:0 + cpu:0"}})");
  if (!unit.empty()) {
    json["unit"] = Json::object();
    json["unit"]["name"] = unit;
    json["unit"]["count"] = units;
  }
  return json;
}

TEST(RunPoint, IsPerUnitOfWorkAndKeepsHowTheEnergyIsKnown) {
  const auto run = point_of_run(document(10, "step"), "3jw");
  ASSERT_TRUE(run) << run.error().text();
  EXPECT_EQ(run->unit, "step");
  EXPECT_DOUBLE_EQ(run->point.time.value(), 2);
  EXPECT_DOUBLE_EQ(run->point.energy.joules.value(), 100);
  EXPECT_DOUBLE_EQ(run->point.energy.expanded_uncertainty().value(), 5);
  EXPECT_EQ(run->point.energy.status_text(), "simulated + estimated");
  EXPECT_EQ(run->point.energy.source, "gpu:0 + cpu:0");
  EXPECT_EQ(run->point.energy.boundary, Boundary::kNode);
  EXPECT_EQ(run->point.energy.systematic.at(0).sensor, "h/gpu:0/gain");
  EXPECT_EQ(run->point.config.text(),
            "command ./train --batch 32, project p, tag final, host h, run 3jw");
  EXPECT_TRUE(run->notes.empty());
}

TEST(RunPoint, WithoutUnitsIsTheWholeRun) {
  const auto run = point_of_run(document(0, ""), "3jw");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->unit, "");
  EXPECT_DOUBLE_EQ(run->point.time.value(), 20);
  EXPECT_TRUE(run->notes.empty());
  const auto none_counted = point_of_run(document(0, "step"), "3jw");
  EXPECT_EQ(none_counted->unit, "");
  ASSERT_EQ(none_counted->notes.size(), 1U);
  EXPECT_NE(none_counted->notes.front().find("counted no step"), std::string::npos);
}

TEST(RunPoint, SaysWhatFailedAndWhatIsMissing) {
  Json failed = document(0, "");
  failed["exit_status"] = 3;
  EXPECT_NE(point_of_run(failed, "3jw")->notes.at(0).find("status 3"), std::string::npos);
  Json missing = document(0, "");
  missing["total"] = *parse_json(R"({"joules": null, "status": "missing", "source": "gpu:0"})");
  const auto run = point_of_run(missing, "3jw");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->point.energy.status, Status::kMissing);
  EXPECT_EQ(run->notes.size(), 1U);
  EXPECT_FALSE(point_of_run(Json::object(), "3jw"));
}

TEST(RunPoint, ReadsRunsFromFiles) {
  const std::string one = document(10, "step").dump(2);
  EXPECT_TRUE(is_run_file(one));
  EXPECT_EQ(points_of_run_file(one, "run.json")->at(0).point.config.find("run"), "run.json");
  Json exported = Json::object();
  exported["schema"] = "perjoule.runs.v1";
  Json entry = Json::object();
  entry["id"] = "3jw";
  entry["document"] = document(10, "step");
  exported["runs"] = Json(Json::Array{entry, entry});
  EXPECT_TRUE(is_run_file(exported.dump()));
  EXPECT_EQ(points_of_run_file(exported.dump(), "runs.json")->size(), 2U);
  EXPECT_FALSE(is_run_file("time_s,energy_j\n1,2\n"));
  EXPECT_FALSE(is_run_file(R"({"schema": "perjoule.points.v1"})"));
  const auto newer = points_of_run_file(R"({"schema": "perjoule.run.v2"})", "run.json");
  EXPECT_EQ(newer.error().code, ErrorCode::kNotSupported);
}

TEST(RunPoint, ALowerBoundStaysOneAndIsSaid) {
  Json bound = document(10, "step");
  bound["total"]["lower_bound"] = true;
  const auto run = point_of_run(bound, "3jw");
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->point.energy.lower_bound);
  EXPECT_NE(run->notes.at(0).find("run 3jw: part of its energy went unseen"), std::string::npos);
}
}  // namespace
}  // namespace perjoule
