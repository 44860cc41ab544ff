#include "serving/window/steady_window.h"

#include <gtest/gtest.h>

#include "serving/window/test_load.h"

namespace perjoule {
namespace {

using namespace test_load;

/// With a full batch, which draws 100 W + 2 W x 32 and makes 32 tokens in 20 ms.
constexpr double kFullBatchEnergy = 164 * 0.02 / 32;

TEST(FullBatchWindow, EnergyPerTokenIsThatOfTheFullBatch) {
  for (const std::size_t requests : {96U, 128U, 320U}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const LoadRun made = closed({}, requests, seed);
      const auto window = full_batch_window(made.records, 32);
      ASSERT_TRUE(window) << window.error().text();
      EXPECT_EQ(window->warning, "");
      EXPECT_NEAR(energy_per_token(made, *window).value(), kFullBatchEnergy,
                  1e-3 * kFullBatchEnergy)
          << requests << " requests, seed " << seed;
      const WindowTotals totals = window_totals(made.records, *window);
      EXPECT_NEAR(static_cast<double>(totals.output_tokens), 32 * window->duration().value() / 0.02,
                  1);
      // The whole run has a beginning and an end that are dearer.
      SteadyWindow whole;
      whole.from = Instant{-1};
      whole.until = made.power.back().at;
      EXPECT_GT(energy_per_token(made, whole).value(), 1.05 * kFullBatchEnergy);
    }
  }
}

TEST(FullBatchWindow, FromTheFirstFullBatchUntilItIsNotFullAnyMore) {
  LoadRun made = closed({.batch = 2, .shortest = 3, .longest = 3}, 7);
  const auto window = full_batch_window(made.records, 2);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->from, Instant{20'000'000});    // the first tokens of two
  EXPECT_EQ(window->until, Instant{120'000'000});  // the fourth end, 7 - 2 - 1
  const WindowTotals totals = window_totals(made.records, *window);
  EXPECT_EQ(totals.output_tokens, 2 * 5);
  EXPECT_EQ(totals.first_tokens, 2U);
  EXPECT_EQ(totals.prompt_tokens, 200);
  EXPECT_EQ(totals.responses, 4U);
  EXPECT_EQ(totals.failures, 0U);
  EXPECT_DOUBLE_EQ(totals.mean_open, 5.8);     // 7 until 60 ms, 5 until 120 ms
  EXPECT_DOUBLE_EQ(totals.mean_running, 1.6);  // 2, but for the step of the next first tokens
  // A failure is as good as an end.
  made.records[6].failure = Failure::kRefused;
  made.records[6].response = {};
  made.records[6].ended = Instant{30'000'000};
  const auto with_failure = full_batch_window(made.records, 2);
  ASSERT_TRUE(with_failure);
  EXPECT_LE(with_failure->until, window->until);
  EXPECT_EQ(window_totals(made.records, *with_failure).failures, 1U);
}

TEST(FullBatchWindow, ShortRunsAreRefusedOrWarnedOf) {
  const auto refused = full_batch_window(closed({}, 65).records, 32);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().text(),
            "no window of steady state: 65 requests for a batch of 32: the batch empties before it "
            "was full for any time; send at least 96 requests");
  const auto warned = full_batch_window(closed({}, 95).records, 32);
  ASSERT_TRUE(warned);
  EXPECT_EQ(warned->warning,
            "a short window: 95 requests for a batch of 32, where 96 or more are wanted");
  EXPECT_FALSE(full_batch_window({}, 0));
}

TEST(FullBatchWindow, ABatchThatWasNeverFullIsSaid) {
  LoadRun made = closed({}, 96);
  for (std::size_t i = 20; i < 96; ++i) made.records[i].response.first_token.reset();
  const auto unfilled = full_batch_window(made.records, 32);
  ASSERT_FALSE(unfilled);
  EXPECT_EQ(unfilled.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(
      unfilled.error().message,
      "no window of steady state: only 20 of 96 requests had a first token, of a batch of 32");
  // Failures that come so early that the end is before the beginning.
  LoadRun inverted = closed({}, 96);
  for (std::size_t i = 0; i < 70; ++i) {
    inverted.records[i].ended = Instant{1000};
    inverted.records[i].response.first_token.reset();
  }
  for (std::size_t i = 0; i < 10; ++i) inverted.records[i].response.first_token = Instant{1};
  const auto refused = full_batch_window(inverted.records, 32);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "no window of steady state: 63 of 96 requests had ended before 32 of them had a first "
            "token");
}

TEST(EnergyBetween, IsTheAreaUnderTheLine) {
  const auto at = [](double seconds) { return Instant{} + Seconds(seconds); };
  const std::vector<PowerReading> power{
      {at(0), Watts(100)}, {at(1), Watts(200)}, {at(1), Watts(50)}, {at(3), Watts(50)}};
  EXPECT_DOUBLE_EQ(energy_between(power, at(0), at(3))->value(), 250);
  EXPECT_DOUBLE_EQ(energy_between(power, at(0.5), at(2))->value(), 87.5 + 50);
  EXPECT_DOUBLE_EQ(energy_between(power, at(2), at(2))->value(), 0);
  EXPECT_EQ(energy_between(power, at(0), at(3.1)).error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(energy_between({}, at(0), at(1)).error().code, ErrorCode::kDataLoss);
}

}  // namespace
}  // namespace perjoule
