#include "serving/board/result_filter.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

BenchResult result(const std::string& model, const std::string& gpu, std::int64_t count = 1) {
  BenchResult r;
  r.task = "chat";
  r.model.id = model;
  r.model.nickname = "Nick of " + model;
  r.gpus = {gpu, "NVIDIA " + gpu + " 80GB", count};
  return r;
}

std::vector<BenchResult> some() {
  std::vector<BenchResult> results{result("org/a-8b", "H100"), result("org/a-8b-fp8", "H100", 2),
                                   result("org/b", "B200")};
  results[1].model.precision = "fp8";
  return results;
}

TEST(ResultFilter, NamesAreExactBeforeTheyAreParts) {
  const auto rows = [](ResultFilter filter) { return filter_results(some(), filter)->rows; };
  using Rows = std::vector<std::size_t>;
  EXPECT_EQ(rows({}), (Rows{0, 1, 2}));
  EXPECT_EQ(rows({.models = {"org/a-8b"}}), (Rows{0}));
  EXPECT_EQ(rows({.models = {"A-8B"}}), (Rows{0, 1}));
  EXPECT_EQ(rows({.models = {"nick of org/b"}}), (Rows{2}));
  EXPECT_EQ(rows({.gpus = {"h100"}}), (Rows{0, 1}));
  EXPECT_EQ(rows({.gpus = {"NVIDIA B200 80GB", "H100"}}), (Rows{0, 1, 2}));
  EXPECT_EQ(rows({.gpus = {"H100"}, .gpu_counts = {2}}), (Rows{1}));
  EXPECT_EQ(rows({.precisions = {"FP8"}}), (Rows{1}));
}

TEST(ResultFilter, AWordThatFitsNothingIsToldWhatThereIs) {
  const auto refused = filter_results(some(), {.gpus = {"H300"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
  EXPECT_NE(refused.error().text().find("there are B200, H100"), std::string::npos)
      << refused.error().text();
  EXPECT_FALSE(filter_results(some(), {.gpus = {"B200"}, .precisions = {"fp8"}}));
}

TEST(ResultFilter, WhatIsSpokenAgainstIsLeftOut) {
  std::vector<BenchResult> results = some();
  results[0].validity = {"power is off"};
  const auto selection = filter_results(results, {});
  ASSERT_TRUE(selection);
  EXPECT_EQ(selection->rows, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(selection->invalid, (std::vector<std::size_t>{0}));
  const auto none = filter_results(results, {.models = {"org/a-8b"}});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().text().find("power is off"), std::string::npos);
}

}  // namespace
}  // namespace perjoule
