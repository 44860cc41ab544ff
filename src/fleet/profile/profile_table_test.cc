#include "fleet/profile/profile_table.h"

#include <gtest/gtest.h>

#include <cmath>

namespace perjoule {
namespace {

const std::string kHeader =
    "model,gpu,tp,pp,clock_mhz,class,load_tps,power_w,ttft_mean_ms,ttft_p90_ms,ttft_p99_ms,"
    "tbt_mean_ms,tbt_p90_ms,tbt_p99_ms,status,origin\n";

Result<ServingProfile> read(const std::string& rows) {
  const auto table = parse_csv(kHeader + rows, "p.csv");
  EXPECT_TRUE(table) << table.error().text();
  return read_profile_table(*table);
}

std::string error_of(const std::string& rows) {
  const auto profile = read(rows);
  return profile ? std::string() : profile.error().text();
}

TEST(ProfileTableTest, RowsInAnyOrderMakeCurvesByLoad) {
  const auto profile = read(
      "m,g,2,4,1400,,1200,210.5,3000,,4000,200,250,,measured,ours\n"
      "m,g,2,4,1400,MM,600,90,,,,,,,simulated,twin\n"
      "m,g,2,4,1400,,600,100.25,1000,,,100,,,measured,ours\n");
  ASSERT_TRUE(profile) << profile.error().text();
  ASSERT_EQ(profile->curves.size(), 2U);
  const ProfileCurve& curve = profile->curves.front();
  EXPECT_EQ(curve.layout, (InstanceLayout{"m", "g", 2, 4}));
  EXPECT_EQ(curve.clock_mhz, 1400);
  EXPECT_EQ(curve.status, Status::kMeasured);
  ASSERT_EQ(curve.points.size(), 2U);
  EXPECT_EQ(curve.points[0].load, 600);
  EXPECT_EQ(curve.points[0].power.value(), 100.25);
  EXPECT_EQ(curve.points[1].ttft[LatencyStatistic::kMean].value(), 3);
  EXPECT_TRUE(std::isnan(curve.points[1].ttft[LatencyStatistic::kP90].value()));
  EXPECT_EQ(curve.points[1].tbt[LatencyStatistic::kP90].value(), 0.25);
  EXPECT_EQ(profile->curves[1].load_class, "MM");
  EXPECT_TRUE(profile->notes.empty());
}

TEST(ProfileTableTest, WhatIsWrittenReadsBack) {
  const auto profile = read(
      "\"m, large\",g,2,4,1400,,600,100.25,1000.1,,,100,,,measured,\"ours, by hand\"\n"
      "\"m, large\",g,2,4,1400,,0.125,90,1,2,3,4,5,6,measured,\"ours, by hand\"\n");
  ASSERT_TRUE(profile) << profile.error().text();
  const std::string text = profile_csv(*profile);
  const auto again = read_profile_table(*parse_csv(text, "again.csv"));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(profile_csv(*again), text);
  EXPECT_EQ(again->curves.front().origin, "ours, by hand");
}

TEST(ProfileTableTest, AHoleIsBridgedAndSaid) {
  const auto profile = read(
      "m,g,1,1,800,,600,100,1000,,,10,,,measured,ours\n"
      "m,g,1,1,800,,1800,300,3000,,,30,,,measured,ours\n"
      "m,g,1,1,900,,600,110,1000,,,10,,,measured,ours\n"
      "m,g,1,1,900,,1200,210,1000,,,10,,,measured,ours\n"
      "m,g,1,1,900,,2400,310,1000,,,10,,,measured,ours\n");
  ASSERT_TRUE(profile) << profile.error().text();
  ASSERT_EQ(profile->notes.size(), 2U);
  EXPECT_NE(profile->notes[0].find("800 MHz: no point at 1200 tokens/s"), std::string::npos)
      << profile->notes[0];
  EXPECT_NE(profile->notes[1].find("900 MHz: no point at 1800 tokens/s"), std::string::npos)
      << profile->notes[1];
  const Operating there = at_load(profile->curves.front(), 1200);
  EXPECT_EQ(there.reach, Reach::kBetween);
  EXPECT_EQ(there.point.power.value(), 200);
}

TEST(ProfileTableTest, RowsOfUnlikeStatusAreAsTheWorse) {
  const auto profile = read(
      "m,g,1,1,800,,600,100,1000,,,10,,,measured,ours\n"
      "m,g,1,1,800,,1800,300,3000,,,30,,,simulated,twin\n");
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(profile->curves.front().status, Status::kSimulated);
  EXPECT_EQ(profile->curves.front().origin, "ours + twin");
}

TEST(ProfileTableTest, ErrorsNameFileLineAndColumn) {
  EXPECT_EQ(error_of(""), "p.csv: a profile without rows");
  EXPECT_NE(error_of("m,g,1,1,800,,600,0,1,,,1,,,measured,o\n")
                .find("p.csv: line 2, column 'power_w': 0 is not above 0"),
            std::string::npos);
  EXPECT_NE(error_of("m,g,1,1,800,,600,,1,,,1,,,measured,o\n")
                .find("p.csv: line 2, column 'power_w': empty"),
            std::string::npos);
  EXPECT_NE(error_of("m,g,1,1,800,,nan,5,1,,,1,,,measured,o\n").find("column 'load_tps'"),
            std::string::npos);
  EXPECT_NE(error_of("m,g,1,1,800,,600,5,-1,,,1,,,measured,o\n")
                .find("column 'ttft_mean_ms': -1 is below 0"),
            std::string::npos);
  EXPECT_NE(error_of("m,g,1.5,1,800,,600,5,1,,,1,,,measured,o\n").find("column 'tp'"),
            std::string::npos);
  EXPECT_NE(error_of("m,g,1,1,800,,600,5,1,,,1,,,known,o\n").find("'known' is no status"),
            std::string::npos);
  EXPECT_NE(error_of(",g,1,1,800,,600,5,1,,,1,,,measured,o\n").find("column 'model': empty"),
            std::string::npos);
  const std::string row = "m,g,1,1,800,,600,5,1,,,1,,,measured,o\n";
  EXPECT_NE(error_of(row + row).find("p.csv: line 3: m on g tp1 at 800 MHz at 600 tokens/s stands "
                                     "there a second time; first: p.csv: line 2"),
            std::string::npos)
      << error_of(row + row);
  const auto table = parse_csv("model,gpu\nm,g\n", "p.csv");
  EXPECT_NE(read_profile_table(*table).error().text().find("no column 'tp'"), std::string::npos);
}

TEST(ProfileTableTest, CurvesThatAreNoneAreRefused) {
  const auto base = read(
      "m,g,1,1,800,,600,5,1,,,1,,,measured,o\n"
      "m,g,1,1,800,,700,5,1,,,1,,,measured,o\n");
  ASSERT_TRUE(base);
  EXPECT_TRUE(check_profile(*base));
  const auto refuses = [&](auto change) {
    ServingProfile profile = *base;
    change(profile.curves.front());
    return !check_profile(profile);
  };
  EXPECT_TRUE(refuses([](ProfileCurve& c) { c.points.clear(); }));
  EXPECT_TRUE(refuses([](ProfileCurve& c) { std::swap(c.points[0], c.points[1]); }));
  EXPECT_TRUE(refuses([](ProfileCurve& c) { c.points[1].load = c.points[0].load; }));
  EXPECT_TRUE(refuses([](ProfileCurve& c) { c.points[1].load = std::nan(""); }));
  EXPECT_TRUE(refuses([](ProfileCurve& c) { c.points[0].power = Watts(std::nan("")); }));
  EXPECT_TRUE(refuses([](ProfileCurve& c) { c.points[0].power = Watts(0); }));
  EXPECT_TRUE(refuses([](ProfileCurve& c) { c.clock_mhz = 0; }));
  EXPECT_TRUE(refuses([](ProfileCurve& c) { c.layout.tensor_parallel = 0; }));
  EXPECT_TRUE(
      refuses([](ProfileCurve& c) { c.points[0].tbt[LatencyStatistic::kMean] = Seconds(-1); }));
  EXPECT_FALSE(check_profile({}));
}

}  // namespace
}  // namespace perjoule
