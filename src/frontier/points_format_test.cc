#include "frontier/points_format.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace perjoule {
namespace {

void expect_equal(const Point& a, const Point& b) {
  EXPECT_EQ(a.config, b.config);
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.rate, b.rate);
  EXPECT_EQ(a.origin, b.origin);
  EXPECT_EQ(a.energy.joules, b.energy.joules);
  EXPECT_EQ(a.energy.random, b.energy.random);
  EXPECT_EQ(a.energy.lower, b.energy.lower);
  EXPECT_EQ(a.energy.upper, b.energy.upper);
  EXPECT_EQ(a.energy.source, b.energy.source);
  EXPECT_EQ(a.energy.boundary, b.energy.boundary);
  EXPECT_EQ(a.energy.status, b.energy.status);
  ASSERT_EQ(a.energy.systematic.size(), b.energy.systematic.size());
  for (std::size_t i = 0; i < a.energy.systematic.size(); ++i) {
    EXPECT_EQ(a.energy.systematic[i].sensor, b.energy.systematic[i].sensor);
    EXPECT_EQ(a.energy.systematic[i].sigma, b.energy.systematic[i].sigma);
  }
}

void expect_round_trip(const PointsFile& file) {
  for (const std::string& text :
       {points_csv(file), points_json(file).dump(), points_json(file).dump(2)}) {
    ASSERT_TRUE(is_points_file(text));
    const auto back = parse_points_file(text, "p");
    ASSERT_TRUE(back) << back.error().text() << "\n" << text;
    EXPECT_EQ(back->unit, file.unit);
    ASSERT_EQ(back->points.size(), file.points.size());
    for (std::size_t i = 0; i < file.points.size(); ++i)
      expect_equal(back->points[i], file.points[i]);
  }
}

Point full_point() {
  Point point;
  point.config = Config({{"power limit", "300 W"}, {"note, of \"x\"", "%a\r\n#"}, {"empty", ""}});
  point.time = Seconds(0.1);
  point.rate = 1.0 / 3;
  point.origin = 17;
  point.energy.joules = Joules(12.1);
  point.energy.random = Joules(1e-17);
  point.energy.systematic = {{"gpu:0/gain", Joules(0.3)}, {"gpu:0/offset", Joules(-0.1)}};
  point.energy.lower = Joules(11);
  point.energy.source = "gpu:0 + cpu:0/package";
  point.energy.boundary = Boundary::kNode;
  point.energy.status = Status::kSimulated;
  return point;
}

TEST(PointsFormat, EverythingIsReadBackExactly) {
  Point other;
  other.config.set("batch", "# 8");
  other.time = Seconds(std::numeric_limits<double>::denorm_min());
  other.energy.joules = Joules(std::numeric_limits<double>::max());
  other.energy.upper = Joules(std::numeric_limits<double>::max());
  other.energy.status = Status::kMeasured;
  Point missing;
  missing.time = Seconds(1);
  missing.energy = Energy::missing("gpu:1");
  expect_round_trip({"token \"x\"\n", {full_point(), other, missing}});
  expect_round_trip({"", {}});
}

RC_GTEST_PROP(PointsFormat, AnyFiguresAndSettings, ()) {
  const auto finite =
      rc::gen::suchThat(rc::gen::arbitrary<double>(), [](double x) { return x - x == 0; });
  // Printable and awkward characters; NUL cannot stand in a CSV and is refused there.
  const auto text =
      rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab ,;\t\"\r\n#%'=1.")));
  Point point = full_point();
  point.config = Config({{"a", *text}, {"b", *text}});
  point.time = Seconds(*finite);
  point.rate = *finite;
  point.energy.joules = Joules(*finite);
  point.energy.random = Joules(*finite);
  point.energy.source = *text;
  expect_round_trip({*text, {point, full_point()}});
}

TEST(PointsFormat, ErrorsNameFileLineAndColumn) {
  const std::string head = "# perjoule.points.v1\nsetting.batch,time_s,energy_j,status\n";
  EXPECT_TRUE(parse_points_file(head + "8,1,2,measured\n", "p.csv"));
  EXPECT_EQ(parse_points_file(head + "8,1,2,guess\n", "p.csv").error().message,
            "p.csv: line 3, column 'status': unknown status: 'guess'");
  EXPECT_EQ(parse_points_file(head + "8,x,2,measured\n", "p.csv").error().message,
            "p.csv: line 3, column 'time_s': not a finite number: 'x'");
  EXPECT_EQ(parse_points_file("# perjoule.points.v1\ntime_s,status\n1,measured\n", "p.csv")
                .error()
                .message,
            "p.csv: no column 'energy_j'");
  EXPECT_EQ(
      parse_points_file(R"({"schema":"perjoule.points.v1","points":[{"time_s":1}]})", "p.json")
          .error()
          .message,
      "p.json: point 1: 'energy' is missing");
}

TEST(PointsFormat, AnotherVersionIsNamed) {
  const auto newer = parse_points_file("# perjoule.points.v2\na\n", "p.csv");
  EXPECT_EQ(newer.error().code, ErrorCode::kNotSupported);
  EXPECT_EQ(newer.error().message,
            "p.csv: written as perjoule.points.v2, this perjoule reads perjoule.points.v1");
  EXPECT_FALSE(is_points_file("time_s,energy_j\n1,2\n"));
  EXPECT_FALSE(is_points_file("[]"));
}

TEST(PointsFormat, AMixedStatusIsReadBackAsItIs) {
  Point point;
  point.time = Seconds(1);
  point.energy.joules = Joules(2);
  ASSERT_TRUE(point.energy.set_status("simulated + estimated"));
  const PointsFile file{"step", {point}};
  for (const std::string& text : {points_csv(file), points_json(file).dump()}) {
    const auto read = parse_points_file(text, "t");
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->points[0].energy.status_text(), "simulated + estimated");
  }
  EXPECT_FALSE(parse_points_file(
      "# perjoule.points.v1\ntime_s,energy_j,status\n1,2,guessed + measured\n", "t"));
}

TEST(PointsFormat, WhatASweepPrintsHoldsAFile) {
  Json document = Json::object();
  document["schema"] = "perjoule.sweep.v1";
  document["points"] = points_json({"step", {Point{}}});
  const auto read = parse_points_file(document.dump(2), "sweep.json");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->unit, "step");
  EXPECT_EQ(read->points.size(), 1U);
}

TEST(PointsFormat, ABoundIsReadBackAndOnlyThenHasAColumn) {
  Point bound = full_point();
  bound.energy.lower_bound = true;
  const PointsFile file{"step", {full_point(), bound}};
  expect_round_trip(file);
  for (const std::string& text : {points_csv(file), points_json(file).dump()}) {
    const auto back = parse_points_file(text, "p");
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_FALSE(back->points[0].energy.one_sided());
    EXPECT_TRUE(back->points[1].energy.lower_bound);
    EXPECT_FALSE(back->points[1].energy.upper_bound);
  }
  EXPECT_EQ(points_csv({"step", {full_point()}}).find("bound,"), std::string::npos);
}
}  // namespace
}  // namespace perjoule
