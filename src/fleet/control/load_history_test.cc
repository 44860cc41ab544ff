#include "fleet/control/load_history.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

namespace perjoule {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;
/// 2026-11-30, a Monday, 0:00 UTC.
constexpr std::int64_t kSomeMonday = 1'796'000'400 / 86'400 * 86'400 * kSecond;

class LoadHistoryTest : public ::testing::Test {
 protected:
  void TearDown() override { ::unlink(path_.c_str()); }

  Result<LoadHistory> read(const std::string& text, const HistorySource& source = {}) {
    EXPECT_TRUE(write_file_atomically(path_, text));
    return read_load_history(path_, source);
  }
  void refuses(const std::string& text, const HistorySource& source, const std::string& words) {
    const auto history = read(text, source);
    ASSERT_FALSE(history) << words;
    EXPECT_THAT(history.error().text(), HasSubstr(path_));
    EXPECT_THAT(history.error().text(), HasSubstr(words));
  }
  /// What the first class is expected to have in that minute of the clock's.
  static double expected(LoadHistory history, const Clock& clock) {
    history.load = load_of_pools(history.load, {}).value();
    const auto forecast = forecast_of(history, clock.unix_ns());
    EXPECT_TRUE(forecast) << forecast.error().text();
    return (*forecast)->peak(Seconds(0), Seconds(60))[0];
  }
  static VirtualClock clock_at(double days, double hours) {
    return VirtualClock({}, kSomeMonday + std::int64_t(days * 86'400 + hours * 3600) * kSecond);
  }

  const std::string path_ =
      testing::TempDir() + "perjoule-history-" + std::to_string(::getpid()) + ".csv";
};

/// Bins of an hour: a thousand times the day's number and the hour.
std::string hours(int days, const std::string& column = "prompt_tps") {
  std::string text = "start_s,duration_s," + column + "\n";
  for (int i = 0; i < 24 * days; ++i)
    text += fmt::format("{},3600,{}\n", 3600 * i, 1000 * (i / 24) + i % 24);
  return text;
}

TEST_F(LoadHistoryTest, AWeekIsExpectedAgainOnTheSameDayAndHour) {
  const auto history = read(hours(7));
  ASSERT_TRUE(history) << history.error().text();
  EXPECT_EQ(history->repeats, kHistoryWeek);
  EXPECT_EQ(history->length(), kHistoryWeek);
  EXPECT_EQ(expected(*history, clock_at(0, 9)), 9);
  EXPECT_EQ(expected(*history, clock_at(2, 9.5)), 2009);
  EXPECT_EQ(expected(*history, clock_at(6, 23)), 6023);
  EXPECT_EQ(expected(*history, clock_at(7 * 20 + 3, 0)), 3000);
  EXPECT_EQ(expected(*history, clock_at(-1, 0)), 6000);
}

TEST_F(LoadHistoryTest, ItMayBeginAtAnyInstant) {
  // A Saturday's noon, two hours ahead of UTC.
  const std::int64_t saturday = kSomeMonday + (5 * 24 + 10) * 3600 * kSecond;
  const auto history = read(hours(7), {.begins_ns = saturday});
  ASSERT_TRUE(history) << history.error().text();
  EXPECT_EQ(history->begins_ns, saturday);
  EXPECT_EQ(expected(*history, clock_at(5, 10)), 0);
  EXPECT_EQ(expected(*history, clock_at(7, 10)), 2000);
}

TEST_F(LoadHistoryTest, LessThanAWeekIsADayAndItsSpread) {
  const auto history = read(hours(3));
  ASSERT_TRUE(history) << history.error().text();
  EXPECT_EQ(history->repeats, kHistoryDay);
  // 5, 1005 and 2005: their mean and standard deviation.
  EXPECT_NEAR(expected(*history, clock_at(4, 5)), 1005 + 816.497, 0.01);
  const auto as_day = read(hours(7), {.scale = 2, .repeats = kHistoryDay});
  ASSERT_TRUE(as_day);
  EXPECT_NEAR(expected(*as_day, clock_at(4, 5)), 2 * 3005 + 2 * 2000, 0.01);
}

TEST_F(LoadHistoryTest, RequestsAMinuteAreOfSoManyTokensOrOfTheLengthsOfATrace) {
  std::string text = "minute_start,conv\n";
  for (int i = 0; i < 144; ++i) text += fmt::format("{},{}\n", 600 + 10 * i, 60 + i);
  const auto plain = read(text, {.column = "conv", .tokens_per_request = 100});
  ASSERT_TRUE(plain) << plain.error().text();
  // The first bin is ten hours after the file's 0.
  EXPECT_NEAR(expected(*plain, clock_at(0, 10)), 100, 1e-9);
  EXPECT_NEAR(expected(*plain, clock_at(0, 11)), 110, 1e-9);
  const auto by_class =
      read(text, {.column = "conv", .lengths = {{100, 10, {}}, {300, 200, {}}}, .scale = 2});
  ASSERT_TRUE(by_class) << by_class.error().text();
  EXPECT_NEAR(expected(*by_class, clock_at(1, 10)), 2 * 200, 1e-9);
  const auto pools = load_of_pools(by_class->load, {0, 4});
  ASSERT_TRUE(pools) << pools.error().text();
  EXPECT_NEAR(pools->bins[0].tokens_per_s[0], 100, 1e-9);
  EXPECT_NEAR(pools->bins[0].tokens_per_s[4], 300, 1e-9);
  refuses(text, {}, "--column");
  refuses(text, {.column = "code", .tokens_per_request = 100}, "code");
}

TEST_F(LoadHistoryTest, ATraceSaysItselfWhenItWas) {
  // Every ten minutes of a Tuesday from 6:00 on, one request of 600 tokens, in the evening ten.
  std::string text = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  for (int i = 0; i < 145; ++i) {
    const int minute = 6 * 60 + 10 * i;
    for (int k = 0; k < (minute / 60 == 20 ? 10 : 1); ++k) {
      text += fmt::format("2026-11-{:02} {:02}:{:02}:00,600,200\n", 24 + minute / 1440,
                          minute / 60 % 24, minute % 60);
    }
  }
  const auto history = read(text);
  ASSERT_TRUE(history) << history.error().text();
  EXPECT_EQ(history->repeats, kHistoryDay);
  // The minute of 6:00 was there twice, all others once.
  EXPECT_NEAR(expected(*history, clock_at(0, 6.5)), 10, 1e-9);
  EXPECT_NEAR(expected(*history, clock_at(3, 20.5)), 100, 1e-9);
  EXPECT_TRUE(load_of_pools(history->load, {4}));
  EXPECT_FALSE(load_of_pools(history->load, {8}));
  refuses(text, {.column = "x"}, "a trace of requests says itself");
  refuses(text, {.begins_ns = 0}, "a trace of requests says itself");
  refuses(text.substr(0, text.rfind('\n', 3000) + 1), {}, "less than a day");
}

TEST_F(LoadHistoryTest, WhatMakesNoTemplateIsToldByItsLine) {
  refuses("start_s,duration_s,prompt_tps\n0,3600,5\n", {}, "less than a day");
  refuses(hours(6), {.repeats = kHistoryWeek}, "6 d of load, less than a week");
  refuses(hours(2) + "172800,60,1\n", {}, "line 50: a bin of 60");
  refuses(hours(2) + "174600,3600,1\n", {}, "line 50");
  refuses(hours(2) + "172800,3600,many\n", {}, "line 50");
  refuses("start_s,duration_s,prompt_tps\n0,50000,1\n50000,50000,1\n", {}, "do not fill a day");
  std::string gap = hours(7) + "604800,3600,1\n";
  const std::string tuesday = "86400,3600,1000\n";
  gap.erase(gap.find(tuesday), tuesday.size());
  refuses(gap, {}, "no load is known of 1 of the 168 bins of a week");
  refuses("time,power\n1,2\n", {}, "neither a trace");
  refuses(hours(2), {.column = "x"}, "prompt tokens already");
  ::unlink(path_.c_str());
  EXPECT_THAT(read_load_history(path_, {}).error().text(), HasSubstr(path_));
}

TEST_F(LoadHistoryTest, ClassesAreThoseOfTheFleetsPools) {
  const auto one = read(hours(1, "prompt_tps:MM"));
  ASSERT_TRUE(one) << one.error().text();
  const auto fits = load_of_pools(one->load, {4});
  ASSERT_TRUE(fits) << fits.error().text();
  EXPECT_EQ(fits->bins[7].tokens_per_s[4], 7);
  EXPECT_EQ(fits->bins[7].tokens_per_s[0], 0);
  const auto refuses = [](const Result<LoadCurve>& load, const std::string& words) {
    ASSERT_FALSE(load) << words;
    EXPECT_THAT(load.error().text(), HasSubstr(words));
  };
  refuses(load_of_pools(one->load, {0}), "a load of class MM, of which the fleet has no pool");
  refuses(load_of_pools(one->load, {4, 8}), "no load of class LL");
  refuses(load_of_pools(read(hours(1))->load, {4}), "a load of all requests");
  refuses(load_of_pools(read(hours(1, "prompt_tps:chat"))->load, {4}), "'chat'");
  // One pool has all of them, whatever they are called.
  EXPECT_TRUE(load_of_pools(read(hours(1, "prompt_tps:chat"))->load, {}));
}

}  // namespace
}  // namespace perjoule
