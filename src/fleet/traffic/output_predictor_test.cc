#include "fleet/traffic/output_predictor.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "base/test_data.h"
#include "fleet/traffic/learned_predictor.h"

namespace perjoule {
namespace {

TEST(OutputPredictorTest, ConfusedOnesErrAsOftenAsTheyAreTold) {
  const auto predictor = confused_predictor(even_confusion(0.4), 3);
  ASSERT_TRUE(predictor) << predictor.error().text();
  int wrong = 0;
  std::array<int, kLengthClasses> said = {};
  constexpr int kCount = 30'000;
  for (int i = 0; i < kCount; ++i) {
    const std::size_t one = (*predictor)->predict({Seconds(0), 100, 200});
    wrong += one != 1;
    ++said[one];
  }
  EXPECT_NEAR(wrong, 0.4 * kCount, 4 * std::sqrt(0.24 * kCount));
  EXPECT_NEAR(said[0], said[2], 5 * std::sqrt(0.2 * kCount));
  EXPECT_EQ(oracle_predictor()->predict({Seconds(0), 100, 400}), 2U);
  Confusion none = even_confusion(0);
  none[0][0] = 0.5;
  EXPECT_FALSE(confused_predictor(none, 1));
  none[0] = {1.5, -0.5, 0};
  EXPECT_FALSE(confused_predictor(none, 1));
  none[0] = {std::nan(""), 0, 1};
  EXPECT_FALSE(confused_predictor(none, 1));
}

TEST(LearnedPredictorTest, LearnsWhatLengthsTell) {
  std::vector<TokenLengths> lengths;
  for (int i = 0; i < 300; ++i) {
    lengths.push_back({60, 10, {}});
    lengths.push_back({1000, i % 10 == 0 ? 20 : 200, {}});
    lengths.push_back({8000, 900, {}});
    lengths.push_back({0, 0, {}});
  }
  auto predictor = LearnedPredictor::train(lengths);
  ASSERT_TRUE(predictor) << predictor.error().text();
  EXPECT_EQ(predictor->predict({Seconds(0), 60, 0}), 0U);
  EXPECT_EQ(predictor->predict({Seconds(0), 1000, 0}), 1U);
  EXPECT_EQ(predictor->predict({Seconds(0), 8000, 0}), 2U);
  EXPECT_NEAR(predictor->probabilities(1000)[0], 0.1, 0.03);
  const auto accuracy = predictor->accuracy(lengths);
  EXPECT_GT(accuracy.right, 0.7);
  EXPECT_NEAR(accuracy.confusion[1][1], 1, 1e-12);
  const auto again = LearnedPredictor::parse(predictor->text());
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->text(), predictor->text());
}

TEST(LearnedPredictorTest, WhatIsNoPredictorIsRefused) {
  EXPECT_FALSE(LearnedPredictor::train({}));
  for (const char* text : {"", "{}", "[]", R"({"schema":"perjoule.output_predictor.v1"})",
                           R"({"schema":"perjoule.output_predictor.v1","weights":[[1],[2],[3]]})"})
    EXPECT_FALSE(LearnedPredictor::parse(text)) << text;
}

TEST(LearnedPredictorTest, IsBetterThanTheCommonestClassOnRequestsItDidNotSee) {
  PJ_TEST_DATA(path, "azure_llm_2023/AzureLLMInferenceTrace_conv.csv");
  const auto trace = lengths_of_azure_trace(read_file(path).value(), path);
  ASSERT_TRUE(trace);
  const std::span<const TokenLengths> all(*trace);
  const std::size_t half = all.size() / 8;
  const auto predictor = LearnedPredictor::train(all.first(half));
  ASSERT_TRUE(predictor);
  const auto accuracy = predictor->accuracy(all.subspan(half));
  std::array<double, kLengthClasses> counts = {};
  for (const TokenLengths& one : all.subspan(half)) counts[output_class(one.output)] += 1;
  const double commonest =
      *std::max_element(counts.begin(), counts.end()) / static_cast<double>(accuracy.requests);
  std::printf("right %.1f %%, the commonest class %.1f %%\n", 100 * accuracy.right,
              100 * commonest);
  EXPECT_GT(accuracy.right, commonest + 0.1);
}

}  // namespace
}  // namespace perjoule
