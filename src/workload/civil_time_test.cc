#include "workload/civil_time.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string>

namespace perjoule {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// 2020-12-23 10:21:51 UTC.
constexpr std::int64_t kDay = 1'608'718'911 * kSecond;

/// Another zone for a test; POSIX notation, which needs no table of zones.
class Zone {
 public:
  explicit Zone(const char* zone) {
    if (const char* was = std::getenv("TZ")) before_ = was;
    ::setenv("TZ", zone, 1);
    ::tzset();
  }
  ~Zone() {
    if (before_.empty()) {
      ::unsetenv("TZ");
    } else {
      ::setenv("TZ", before_.c_str(), 1);
    }
    ::tzset();
  }
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;

 private:
  std::string before_;
};

TEST(CivilTime, FormsThatProgramsWrite) {
  const Seconds utc(0);
  EXPECT_EQ(parse_stamp("20201223-102151", "YMD-hms", utc), kDay);
  EXPECT_EQ(parse_stamp("12-23-2020 10:21:51.496", "M-D-Y h:m:s", utc), kDay + 496'000'000);
  EXPECT_EQ(parse_stamp("2020/12/23 10:21:51.5", "Y/M/D h:m:s", utc), kDay + 500'000'000);
  EXPECT_EQ(parse_stamp("2020-12-23T10:21:51.1234567891", "Y-M-D h:m:s", utc), kDay + 123'456'789);
}

TEST(CivilTime, AZoneInTheStampCountsMoreThanTheCallers) {
  const Seconds other(-18000);
  EXPECT_EQ(parse_stamp("2020-12-23 10:21:51Z", "Y-M-D h:m:s", other), kDay);
  EXPECT_EQ(parse_stamp("2020-12-23 12:21:51+02:00", "Y-M-D h:m:s", other), kDay);
  EXPECT_EQ(parse_stamp("2020-12-23 04:51:51.0-0530", "Y-M-D h:m:s", other), kDay);
  EXPECT_EQ(parse_stamp("2020-12-23 05:21:51", "Y-M-D h:m:s", other), kDay);
}

TEST(CivilTime, WithoutAnyItIsThisMachinesTime) {
  const Zone zone("TST-3");  // three hours ahead
  EXPECT_EQ(parse_stamp("20201223-132151", "YMD-hms", std::nullopt), kDay);
  EXPECT_EQ(parse_stamp("20201223-102151", "YMD-hms", Seconds(0)), kDay);
}

TEST(CivilTime, DaylightSavingIsTheMachines) {
  const Zone zone("TST-1TDT,M3.5.0,M10.5.0/3");
  const auto winter = parse_stamp("20210115-120000", "YMD-hms", std::nullopt);
  const auto summer = parse_stamp("20210715-120000", "YMD-hms", std::nullopt);
  ASSERT_TRUE(winter && summer);
  EXPECT_EQ(*summer - *winter, (181LL * 86400 - 3600) * kSecond);
}

TEST(CivilTime, WhatIsNoStampIsNone) {
  for (const char* text :
       {"", "2020", "20201323-102151", "20200230-102151", "20201223-242151", "20201223-106051",
        "20201223-10215", "20201223 102151", "20201223-102151.", "20201223-102151x",
        "20201223-102151+2", "20201223-102151+99:00", "19691223-102151", "21011223-102151",
        "2020122a-102151"}) {
    EXPECT_FALSE(parse_stamp(text, "YMD-hms", Seconds(0))) << text;
  }
  EXPECT_FALSE(parse_stamp("20201223-102151", "YMD-hms", Seconds(1e9)));
  EXPECT_FALSE(parse_stamp("20201223-102151", "YMD-hms", Seconds(std::nan(""))));
}

TEST(CivilTime, UnixSeconds) {
  EXPECT_EQ(ns_of_unix_seconds(1'608'718'911.5), kDay + 500'000'000);
  EXPECT_FALSE(ns_of_unix_seconds(3));
  EXPECT_FALSE(ns_of_unix_seconds(-1));
  EXPECT_FALSE(ns_of_unix_seconds(1e18));
  EXPECT_FALSE(ns_of_unix_seconds(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(ns_of_unix_seconds(std::numeric_limits<double>::infinity()));
}

}  // namespace
}  // namespace perjoule
