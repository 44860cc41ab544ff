#include "serving/load/bench_task.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

TEST(BenchTask, ByItsOwnNameOrThePublishedOne) {
  EXPECT_EQ(bench_task("chat")->published, "lm-arena-chat");
  EXPECT_EQ(bench_task("lm-arena-chat")->name, "chat");
  EXPECT_EQ(bench_task("code")->endpoint, Endpoint::kCompletions);
  EXPECT_EQ(bench_task("gpqa")->max_tokens, 32'768);
  const auto none = bench_task("poems");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().text().find("length-control"), std::string::npos);
  EXPECT_FALSE(bench_task(""));
}

TEST(BenchTask, LawsOfLengths) {
  EXPECT_EQ(parse_length_law("500")->kind, LengthKind::kFixed);
  EXPECT_EQ(parse_length_law("500")->mean, 500);
  EXPECT_EQ(parse_length_law("uniform:500:100")->spread, 100);
  EXPECT_EQ(parse_length_law("exponential:300<4096")->most, 4096);
  EXPECT_EQ(parse_length_law("pareto:500:2.5")->kind, LengthKind::kPareto);
  EXPECT_EQ(parse_length_law("lognormal:500:0.8")->kind, LengthKind::kLogNormal);
  EXPECT_EQ(parse_length_law("100000")->most, 100'000) << "a fixed length is its own bound";
  for (const char* text :
       {"", "-5", "0", "2.5", "uniform", "uniform:5", "exponential:3:4", "normal:3:4", "pareto:x:2",
        "500<", "500<0", "exponential:300<x", "500:3", "nan", "inf", "1e300"})
    EXPECT_FALSE(parse_length_law(text)) << text;
}

}  // namespace
}  // namespace perjoule
