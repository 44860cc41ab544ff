#include "meter/compare.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/energy_json.h"

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

/// A source's energy, its gain error being its own.
Energy part(const char* source, double joules, Boundary boundary = Boundary::kDevice,
            Status status = Status::kMeasured) {
  Energy energy;
  energy.source = source;
  energy.joules = Joules(joules);
  energy.random = Joules(0.3);
  energy.boundary = boundary;
  energy.status = status;
  return energy;
}
ComparedRun run_of(const char* name, std::vector<Energy> parts) {
  ComparedRun out;
  out.name = name;
  out.time = Seconds(1);
  out.total = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) out.total = out.total + parts[i];
  out.parts = std::move(parts);
  return out;
}

TEST(Compare, OfUnlikeSourcesThoseThatBothMeasuredAreCompared) {
  const ComparedRun gpu = run_of("a", {part("gpu:x", 100)});
  const ComparedRun more = run_of("b", {part("gpu:x", 100), part("cpu:0/package", 56)});
  for (const Comparison& c : {compare(gpu, more), compare(more, gpu)}) {
    EXPECT_EQ(c.verdict, Difference::kNone);
    EXPECT_DOUBLE_EQ(c.first.joules.value(), 100);
    ASSERT_EQ(c.notes.size(), 1U);
    EXPECT_NE(c.notes[0].find("cpu:0/package"), std::string::npos);
  }
}

TEST(Compare, WhereNothingIsCommonThereIsNoAnswer) {
  const Comparison c =
      compare(run_of("a", {part("gpu:x", 100)}), run_of("b", {part("cpu:0/package", 56)}));
  EXPECT_EQ(c.verdict, Difference::kUnknown);
  EXPECT_NE(c.reason.find("gpu:x in a, cpu:0/package in b"), std::string::npos) << c.reason;
  // A counter and an estimate are not the same source either.
  EXPECT_EQ(
      compare(run_of("a", {part("cpu:0/package", 100)}),
              run_of("b", {part("cpu:0/estimate", 56, Boundary::kDevice, Status::kEstimated)}))
          .verdict,
      Difference::kUnknown);
}

TEST(Compare, AnotherDeviceOfTheSameKindIsComparedWithANote) {
  const Comparison c = compare(run_of("a", {part("gpu:x", 100)}), run_of("b", {part("gpu:y", 50)}));
  EXPECT_EQ(c.verdict, Difference::kLess);
  ASSERT_EQ(c.notes.size(), 1U);
  EXPECT_NE(c.notes[0].find("other devices of the same kind"), std::string::npos);
  // Of the twin and of hardware are not.
  EXPECT_EQ(compare(run_of("a", {part("gpu:x", 100)}),
                    run_of("b", {part("gpu:y", 50, Boundary::kDevice, Status::kSimulated)}))
                .verdict,
            Difference::kUnknown);
}

TEST(Compare, UnlikeBoundariesAreRefusedAndUnlikeStatusesNoted) {
  ComparedRun a = run(1, 700);
  ComparedRun b = run(1, 500);
  b.total.boundary = Boundary::kNode;
  const Comparison refused = compare(a, b);
  EXPECT_EQ(refused.verdict, Difference::kUnknown);
  EXPECT_NE(refused.reason.find("B0"), std::string::npos);
  EXPECT_NE(refused.reason.find("B1"), std::string::npos);
  b.total.boundary = Boundary::kDevice;
  b.total.status = Status::kEstimated;
  const Comparison noted = compare(a, b);
  EXPECT_EQ(noted.verdict, Difference::kLess);
  ASSERT_EQ(noted.notes.size(), 1U);
  EXPECT_NE(noted.notes[0].find("estimated"), std::string::npos);
}

TEST(Compare, TheSummedSourcesOfADocumentAreItsParts) {
  const auto document = parse_json(R"({"duration_s": 1, "total": {"joules": 9, "expanded_j": 1,
      "status": "measured", "boundary": "B0", "source": "gpu:x", "grade": "A"}, "sources": [
      {"id": "gpu:x", "overlaps": null, "energy": {"joules": 9, "expanded_j": 1,
       "status": "measured", "boundary": "B0", "source": "gpu:x", "grade": "A"}},
      {"id": "gpu:x/power", "overlaps": "gpu:x", "energy": {"joules": 8, "expanded_j": 1,
       "status": "measured", "boundary": "B0", "source": "gpu:x/power", "grade": "A"}}]})");
  ASSERT_TRUE(document);
  const auto read = compared_run(*document, "a");
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->parts.size(), 1U);
  EXPECT_EQ(read->parts[0].source, "gpu:x");
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
/// A run document of a package whose gain is known to 10 %.
Json of_host(const std::string& host, double joules, const std::string& sensor, bool merged) {
  Energy energy = part("cpu:0/package", joules);
  energy.systematic = {{sensor, Joules(0.1 * joules / std::sqrt(3.0))}};
  Json document = Json::object();
  document["schema"] = "perjoule.run.v1";
  document["duration_s"] = 1.0;
  document["host"] = host;
  if (merged) document["hosts"][host] = 2;
  document["total"] = to_json(energy);
  Json source = Json::object();
  source["id"] = "cpu:0/package";
  source["energy"] = to_json(energy);
  document["sources"] = Json::array();
  document["sources"].push_back(source);
  return document;
}

TEST(Compare, GainsOfTwoMachinesDoNotCancel) {
  const char* sensor = "cpu:0/package/gain";
  const auto verdict = [&](const Json& a, const Json& b) {
    return compare(*compared_run(a, "a"), *compared_run(b, "b"));
  };
  const Json here = of_host("n1", 150, sensor, false);
  const Comparison apart = verdict(here, of_host("n2", 162, sensor, false));
  EXPECT_EQ(apart.verdict, Difference::kNone);
  EXPECT_GT(apart.relative_half_width, 0.1);
  ASSERT_EQ(apart.notes.size(), 1U);
  EXPECT_NE(apart.notes[0].find("n1 and n2"), std::string::npos);
  // On one machine they do, and where the device is known by more than its place.
  const Comparison same = verdict(here, of_host("n1", 162, sensor, false));
  EXPECT_EQ(same.verdict, Difference::kMore);
  EXPECT_TRUE(same.notes.empty());
  const char* moved = "gpu:GPU-8f2c1d90/board/gain";
  EXPECT_EQ(verdict(of_host("n1", 150, moved, false), of_host("n2", 162, moved, false)).verdict,
            Difference::kMore);
  // What was merged names its hosts' sensors itself.
  const Json merged = of_host("n1", 162, std::string("n1/") + sensor, true);
  EXPECT_EQ(verdict(here, merged).verdict, Difference::kMore);
}

}  // namespace
}  // namespace perjoule
