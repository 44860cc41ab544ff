#include "frontier/points_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "base/text.h"
#include "frontier/frontier.h"
#include "frontier/points_format.h"

namespace perjoule {
namespace {

PointsTable table(std::string_view text, const PointsOptions& options = {}) {
  auto read = parse_points(text, "t.csv", options);
  EXPECT_TRUE(read) << read.error().text();
  if (read) return *read;
  PointsTable none;
  none.groups.emplace_back();
  return none;
}
std::string error_of(std::string_view text, const PointsOptions& options = {}) {
  const auto read = parse_points(text, "t.csv", options);
  EXPECT_FALSE(read);
  return read ? "" : read.error().message;
}
PointsOptions mapped(std::initializer_list<std::string_view> mappings) {
  PointsOptions options;
  for (const auto mapping : mappings) EXPECT_TRUE(add_mapping(mapping, options.map));
  return options;
}

constexpr std::string_view kServing =
    "model,gpu,max_bs,avg_tpot_s,energy_per_req_j,token_tput_tok_s\n"
    "llama,H100,8,0.01,4,100\nllama,A100,8,0.02,6,50\nllama,H100,16,0.015,3,180\ngemma,H100,8,0.02,"
    "2,1\n";

TEST(PointsTable, RecognisesColumnsByTheirUnits) {
  const PointsTable read = table(kServing);
  ASSERT_EQ(read.groups.size(), 1U);
  ASSERT_EQ(read.groups[0].points.size(), 4U);
  const Point& point = read.groups[0].points[1];
  EXPECT_DOUBLE_EQ(point.time.value(), 0.02);
  EXPECT_DOUBLE_EQ(point.energy.joules.value(), 6);
  EXPECT_EQ(point.config.text(), "model llama, gpu A100, max_bs 8");
  EXPECT_EQ(point.origin, 3U);
  EXPECT_EQ(point.energy.status, Status::kReconstructed);
  EXPECT_EQ(point.energy.source, "t.csv:energy_per_req_j");
  EXPECT_TRUE(read.notes.empty());
  EXPECT_EQ(read.time_column, "avg_tpot_s");
  EXPECT_EQ(read.energy_column, "energy_per_req_j");
}

TEST(PointsTable, WhereSelectsAndGroupBySplits) {
  PointsOptions options;
  options.where = {{"model", "llama"}, {"max_bs", "8.0"}};
  options.group_by = {"gpu"};
  const PointsTable read = table(kServing, options);
  ASSERT_EQ(read.groups.size(), 2U);
  EXPECT_EQ(read.rows, 4U);
  EXPECT_EQ(read.selected, 2U);
  EXPECT_EQ(read.groups[1].key.text(), "gpu A100");
  options.where = {{"gpu", "H100"}, {"gpu", "A100"}};
  EXPECT_EQ(table(kServing, options).selected, 4U);
}

TEST(PointsTable, NothingSelectedSaysWhatThereIs) {
  PointsOptions options;
  options.where = {{"gpu", "B200"}};
  EXPECT_EQ(error_of(kServing, options),
            "t.csv: no row matches; t.csv: column 'gpu' holds 'H100', 'A100'");
  options.where = {{"chip", "B200"}};
  EXPECT_EQ(error_of(kServing, options),
            "t.csv: no column 'chip'; columns: model, gpu, max_bs, avg_tpot_s, energy_per_req_j, "
            "token_tput_tok_s");
}

TEST(PointsTable, MappingsCarryUnitsSumsAndPatterns) {
  const std::string_view text = "w,t,gpu0_energy,gpu1_energy\n300,2000,5,6\n";
  const PointsTable read = table(text, mapped({"time=t:ms", "energy=gpu*_energy:kJ"}));
  EXPECT_DOUBLE_EQ(read.groups[0].points[0].time.value(), 2);
  EXPECT_DOUBLE_EQ(read.groups[0].points[0].energy.joules.value(), 11000);
  EXPECT_EQ(read.groups[0].points[0].config.text(), "w 300");
  const PointsTable sum = table(text, mapped({"time=t", "energy=gpu0_energy + gpu1_energy"}));
  EXPECT_DOUBLE_EQ(sum.groups[0].points[0].energy.joules.value(), 11);
  EXPECT_EQ(sum.notes[0], "t.csv: column 't' names no unit and is taken as seconds");
}

TEST(PointsTable, PowerGivesEnergyOrRate) {
  const Point made =
      table("time_s,avg_power_w\n2,100\n", mapped({"power=avg_power_w"})).groups[0].points[0];
  EXPECT_DOUBLE_EQ(made.energy.joules.value(), 200);
  EXPECT_EQ(made.energy.source, "t.csv:avg_power_w x time_s");
  const Point batched =
      table("itl_ms,energy_j,power_w\n10,0.5,100\n", mapped({"power=power_w"})).groups[0].points[0];
  EXPECT_DOUBLE_EQ(batched.rate, 200);
  EXPECT_DOUBLE_EQ(mean_power(batched).value(), 100);
}

TEST(PointsTable, AmbiguityIsAnErrorThatListsTheCandidates) {
  EXPECT_EQ(error_of("p50_itl_ms,p99_itl_ms,energy_j\n1,2,3\n"),
            "t.csv: more than one column could be the time: p50_itl_ms, p99_itl_ms");
  EXPECT_EQ(error_of("a,b\n1,2\n"), "t.csv: no column is recognised as time; columns: a, b");
  // One is plainly called so: the other is something else.
  EXPECT_EQ(table("time_s,warmup_s,energy_j\n1,2,3\n").groups[0].points[0].time.value(), 1);
}

TEST(PointsTable, BadCellsAreNamed) {
  EXPECT_EQ(error_of("time_s,energy_j\n1,2\n1,nan\n"),
            "t.csv: line 3, column 'energy_j': not a finite number: 'nan'");
  EXPECT_EQ(error_of("time_s,energy_j\n1\n"), "t.csv: line 2: 1 fields where the header has 2");
  EXPECT_EQ(error_of("time_s,energy_j\n0,2\n"),
            "t.csv: line 2, column 'time_s': time is not above zero: 0");
  EXPECT_EQ(error_of("time_s,energy_j\n1,-2\n"),
            "t.csv: line 2, column 'energy_j': energy is below zero: -2");
  EXPECT_EQ(error_of("time_s,energy_j\n"), "t.csv: no rows");
  EXPECT_EQ(error_of("x,energy_j\n1,2\n", mapped({"time=x:kWh"})),
            "t.csv: not a unit of seconds: 'kWh'");
  EXPECT_EQ(error_of("x_j,energy_j\n1,2\n", mapped({"time=x_j", "energy=energy_j"})),
            "t.csv: column 'x_j' is not in a unit of seconds");
  // A bad row that is not selected is nobody's business.
  PointsOptions options;
  options.where = {{"ok", "1"}};
  EXPECT_EQ(table("ok,time_s,energy_j\n1,2,3\n0,,\n", options).selected, 1U);
}

TEST(PointsTable, DecimalCommasByteOrderMarkAndCrLf) {
  const PointsTable read = table("\xEF\xBB\xBFtime_s;energy_j\r\n1,5;2,25\r\n");
  EXPECT_DOUBLE_EQ(read.groups[0].points[0].energy.joules.value(), 2.25);
}

TEST(PointsTable, RepeatsAreAveragedWithTheirSpread) {
  const PointsTable read = table("batch,time_s,energy_j\n8,1,10\n8,3,14\n16,2,9\n");
  ASSERT_EQ(read.groups[0].points.size(), 2U);
  EXPECT_DOUBLE_EQ(read.groups[0].points[0].energy.joules.value(), 12);
  EXPECT_DOUBLE_EQ(read.groups[0].points[0].energy.random.value(), 2);
  EXPECT_EQ(read.notes[0], "3 rows are repeats of 2 configurations and are averaged");
  PointsOptions options;
  options.average = false;
  EXPECT_EQ(table("batch,time_s,energy_j\n8,1,10\n8,3,14\n", options).groups[0].points.size(), 2U);
}

TEST(PointsTable, AStatusColumnAndAnUncertaintyAreKept) {
  const Point point = table("batch,time_s,energy_j,u_j,status\n8,1,10,0.4,measured\n",
                            mapped({"energy=energy_j", "uncertainty=u_j"}))
                          .groups[0]
                          .points[0];
  EXPECT_EQ(point.energy.status, Status::kMeasured);
  EXPECT_DOUBLE_EQ(point.energy.expanded_uncertainty().value(), 0.4);
  EXPECT_EQ(point.config.text(), "batch 8");
  // A status of other words is a setting like any.
  EXPECT_EQ(table("status,time_s,energy_j\nok,1,10\n").groups[0].points[0].config.text(),
            "status ok");
}

TEST(PointsTable, JsonArraysAndMembers) {
  const std::string_view rows =
      R"([{"tp":1,"p":{"x":true},"time_ms":10,"energy_j":2},{"time_ms":5,"energy_j":"3","q":null}])";
  for (const std::string& text :
       {std::string(rows), "{\"version\":1,\"configurations\":" + std::string(rows) + "}"}) {
    const PointsTable read = table(text);
    ASSERT_EQ(read.groups[0].points.size(), 2U);
    EXPECT_EQ(read.groups[0].points[0].config.text(), "tp 1, p.x true");
    EXPECT_DOUBLE_EQ(read.groups[0].points[0].time.value(), 0.01);
    EXPECT_TRUE(read.groups[0].points[1].config.empty());
    EXPECT_EQ(read.groups[0].points[1].origin, 2U);
  }
  EXPECT_EQ(error_of(R"([{"time_s":1,"energy_j":"x"}])"),
            "t.csv: element 1, member 'energy_j': not a finite number: \"x\"");
  EXPECT_EQ(error_of(R"([{"time_s":1,"energy_j":1},{"time_s":1}])"),
            "t.csv: element 2, member 'energy_j': missing where a number is wanted");
  EXPECT_EQ(error_of("[3]"), "t.csv: element 1: not an object of named figures");
  EXPECT_EQ(error_of("{}"), "t.csv: no array of objects to read points from");
  EXPECT_EQ(error_of("[1,"),
            "t.csv: not JSON: line 1, column 3: syntax error while parsing value - "
            "unexpected end of input; expected '[', '{', or a literal");
}

TEST(PointsTable, OurOwnFormatKeepsEverything) {
  Point point;
  point.config = Config({{"power limit", "300 W"}, {"gpu", "a"}});
  point.time = Seconds(2);
  point.energy.joules = Joules(5);
  point.energy.status = Status::kSimulated;
  Point other = point;
  other.config.set("gpu", "b");
  PointsOptions options;
  options.group_by = {"gpu"};
  const PointsTable read = table(points_csv({"step", {point, other}}), options);
  EXPECT_EQ(read.unit, "step");
  ASSERT_EQ(read.groups.size(), 2U);
  EXPECT_EQ(read.groups[1].points[0].energy.status, Status::kSimulated);
  options.where = {{"gpu", "b"}};
  EXPECT_EQ(table(points_csv({"step", {point, other}}), options).selected, 1U);
}

TEST(PointsTable, SeveralFilesAreJoined) {
  const std::string folder = ::testing::TempDir();
  ASSERT_TRUE(write_file_atomically(folder + "/pj_a.csv", "batch,time_s,energy_j\n8,1,10\n"));
  ASSERT_TRUE(write_file_atomically(folder + "/pj_b.json",
                                    R"([{"batch":8,"time_ms":3000,"energy_j":14}])"));
  const auto read = read_points({folder + "/pj_a.csv", folder + "/pj_b.json"}, {});
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->groups.size(), 1U);
  ASSERT_EQ(read->groups[0].points.size(), 1U);
  EXPECT_DOUBLE_EQ(read->groups[0].points[0].time.value(), 2);
  EXPECT_EQ(read_points({folder + "/pj_none.csv"}, {}).error().code, ErrorCode::kNotFound);
}

TEST(PointsTable, MappingsThatAreNone) {
  ColumnMap map;
  for (const char* text : {"time", "colour=x", "time=", "", "=x"})
    EXPECT_FALSE(add_mapping(text, map)) << text;
}

TEST(PointsTable, ALargeTable) {
  // A million rows are a benchmark; under the sanitizers a tenth shows the same.
  constexpr int kRows = 100'000;
  std::string text = "power_limit_w,clock_mhz,batch,time_s,energy_j\n";
  for (int i = 0; i < kRows; ++i) {
    text += std::to_string(i % 500) + "," + std::to_string(i / 500) + ",8,1.25," +
            std::to_string(i % 977) + ".5\n";
  }
  const PointsTable read = table(text);
  ASSERT_EQ(read.groups[0].points.size(), std::size_t{kRows});
  const auto frontier = Frontier::make(read.groups[0].points);
  ASSERT_TRUE(frontier);
  EXPECT_EQ(frontier->choose(Knee{})->feasible, std::size_t{kRows});
}

PointsInput measured(const std::string& name, const std::string& unit) {
  Point point;
  point.time = Seconds(1);
  point.energy.joules = Joules(2);
  point.energy.status = Status::kMeasured;
  point.config.set("run", name);
  return {name, PointsFile{unit, {point}}};
}

TEST(PointsTable, UnlikeWorkIsNotJoined) {
  const auto joined = join_points({measured("a", "step"), measured("b", "step")}, {});
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->unit, "step");
  EXPECT_EQ(joined->files, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(joined->groups[0].points[1].file, 1U);
  const auto tokens = join_points({measured("a", "step"), measured("b", "token")}, {});
  ASSERT_FALSE(tokens);
  EXPECT_EQ(tokens.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(tokens.error().message, "figures of unlike work: per step in a, per token in b");
  EXPECT_FALSE(join_points({measured("a", ""), measured("b", "token")}, {}));
  EXPECT_TRUE(join_points({measured("a", ""), measured("b", "")}, {}));
}

TEST(PointsTable, RowsShareTheNamesOfTheirSettingsAndLeaveEmptyOnesOut) {
  const PointsTable read = table("a,b,time_s,energy_j\n1,2,1,1\n,2,1,1\n1,,1,1\n,,1,1\n3,4,1,1\n");
  const auto& points = read.groups[0].points;
  ASSERT_EQ(points.size(), 5U);
  EXPECT_EQ(points[0].config.text(), "a 1, b 2");
  EXPECT_EQ(points[1].config.text(), "b 2");
  EXPECT_EQ(points[2].config.text(), "a 1");
  EXPECT_TRUE(points[3].config.empty());
  EXPECT_EQ(points[4].config.text(), "a 3, b 4");
}

TEST(PointsTable, UnlikeBoundariesAndStatusesAreSaid) {
  const auto mixed = parse_points(
      "# "
      "perjoule.points.v1\nn,time_s,energy_j,random_j,systematic,lower_j,upper_j,rate_per_s,status,"
      "boundary,source,origin\n"
      "1,1,10,,,,,,measured,B0,a,\n2,2,5,,,,,,simulated,B1,b,\n",
      "t.csv", {});
  ASSERT_TRUE(mixed) << mixed.error().text();
  ASSERT_EQ(mixed->notes.size(), 2U);
  EXPECT_NE(mixed->notes[0].find("boundaries are held against each other: B0 and B1"),
            std::string::npos);
  EXPECT_NE(mixed->notes[1].find("measured and simulated"), std::string::npos);
  // A plain table with a status of each row.
  const auto plain =
      parse_points("n,time_s,energy_j,status\n1,1,10,measured\n2,2,5,estimated\n", "t.csv", {});
  ASSERT_TRUE(plain) << plain.error().text();
  ASSERT_FALSE(plain->notes.empty());
  EXPECT_NE(plain->notes.back().find("measured and estimated"), std::string::npos);
  // Held apart they are not held against each other.
  PointsOptions apart;
  apart.group_by = {"status"};
  const auto grouped =
      parse_points("n,time_s,energy_j,status\n1,1,10,measured\n2,2,5,estimated\n", "t.csv", apart);
  ASSERT_TRUE(grouped) << grouped.error().text();
  for (const std::string& note : grouped->notes) EXPECT_EQ(note.find("unlike"), std::string::npos);
}
}  // namespace
}  // namespace perjoule
