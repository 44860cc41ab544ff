#include "server/node/history.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace perjoule {
namespace {

constexpr std::int64_t kStart = 1'800'000'000'000;  // a whole hour

History small() { return History({{1, 10}, {60, 5}}); }

TEST(HistoryTest, TellsMeanLeastAndMostOfEvenSteps) {
  History history = small();
  for (int i = 0; i < 8; ++i) history.add("a", kStart + i * 1000, Watts(100 + i));
  const auto part = history.part("a", kStart, kStart + 8000, 4);
  ASSERT_TRUE(part) << part.error().text();
  EXPECT_EQ(part->from_unix_ms, kStart);
  EXPECT_EQ(part->step, Seconds(2));
  EXPECT_EQ(part->mean, (std::vector<float>{100.5F, 102.5F, 104.5F, 106.5F}));
  EXPECT_EQ(part->least, (std::vector<float>{100, 102, 104, 106}));
  EXPECT_EQ(part->most, (std::vector<float>{101, 103, 105, 107}));
}

TEST(HistoryTest, WhatWasNotKnownIsNoNumber) {
  History history = small();
  history.add("a", kStart, Watts(1));
  history.add("a", kStart + 1000, Watts(NAN));
  history.add("a", kStart + 3000, Watts(4));
  const auto part = history.part("a", kStart, kStart + 4000, 100);
  ASSERT_TRUE(part);
  ASSERT_EQ(part->mean.size(), 4U);
  EXPECT_EQ(part->mean[0], 1);
  EXPECT_TRUE(std::isnan(part->mean[1]));
  EXPECT_TRUE(std::isnan(part->least[2]));
  EXPECT_EQ(part->mean[3], 4);
}

TEST(HistoryTest, TheFinestRingThatStillHasItAnswers) {
  History history = small();
  for (int i = 0; i < 300; ++i) history.add("a", kStart + i * 1000, Watts(i));
  const auto recent = history.part("a", kStart + 295'000, kStart + 300'000, 100);
  ASSERT_TRUE(recent);
  EXPECT_EQ(recent->step, Seconds(1));
  EXPECT_EQ(recent->mean.size(), 5U);
  const auto all = history.part("a", kStart, kStart + 300'000, 100);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->step, Seconds(60));
  EXPECT_EQ(all->mean, (std::vector<float>{29.5F, 89.5F, 149.5F, 209.5F, 269.5F}));
  const auto older = history.part("a", kStart - 3'600'000, kStart + 300'000, 100);
  ASSERT_TRUE(older);
  EXPECT_EQ(older->from_unix_ms, kStart) << "nothing older is kept";
}

TEST(HistoryTest, TimesThatComeAgainAreForgottenFirst) {
  History history = small();
  for (int i = 0; i < 8; ++i) history.add("a", kStart + i * 1000, Watts(100));
  history.add("a", kStart + 2000, Watts(7));  // the clock was set back
  const auto part = history.part("a", kStart, kStart + 8000, 100);
  ASSERT_TRUE(part);
  ASSERT_EQ(part->mean.size(), 3U) << "what lies ahead is not known any more";
  EXPECT_EQ(part->least[2], 7);
}

TEST(HistoryTest, PartsThatMakeNoSense) {
  History history = small();
  history.add("a", kStart, Watts(1));
  EXPECT_EQ(history.part("b", 0, 1, 1).error().code, ErrorCode::kNotFound);
  for (const auto& [from, to, points] : {std::tuple{kStart, kStart, std::size_t{1}},
                                         {kStart, kStart - 1, 1},
                                         {kStart, kStart + 1, 0},
                                         {kStart, kStart + 1, 20'001},
                                         {std::int64_t{-5}, kStart, 1}}) {
    EXPECT_EQ(history.part("a", from, to, points).error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_TRUE(history.part("a", 0, std::numeric_limits<std::int64_t>::max(), 1));
}

RC_GTEST_PROP(HistoryTest, AllThatWasAddedIsInTheMean, (std::vector<std::uint16_t> watts)) {
  RC_PRE(!watts.empty() && watts.size() < 300);
  History history({{1, 400}});
  double sum = 0;
  for (std::size_t i = 0; i < watts.size(); ++i) {
    history.add("a", kStart + static_cast<std::int64_t>(i) * 1000, Watts(watts[i]));
    sum += watts[i];
  }
  const auto points = *rc::gen::inRange<std::size_t>(1, 500);
  const auto part =
      history.part("a", kStart, kStart + static_cast<std::int64_t>(watts.size()) * 1000, points);
  RC_ASSERT(part.has_value());
  RC_ASSERT(part->mean.size() <= points);
  const auto each = static_cast<std::size_t>(part->step.value());
  double shown = 0;
  for (std::size_t i = 0; i < part->mean.size(); ++i) {
    const std::size_t count = std::min(each, watts.size() - i * each);
    shown += static_cast<double>(part->mean[i]) * static_cast<double>(count);
    RC_ASSERT(part->least[i] <= part->mean[i] + 0.01F && part->mean[i] <= part->most[i] + 0.01F);
  }
  RC_ASSERT(std::abs(shown - sum) <= 1e-4 * sum + 0.1);
}

}  // namespace
}  // namespace perjoule
