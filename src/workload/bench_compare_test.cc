#include "workload/bench_compare.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

BenchResult result(double joules, double random, double gain = 0) {
  BenchResult made;
  made.model.id = "m";
  made.task = "t";
  Energy energy;
  energy.joules = Joules(joules);
  energy.random = Joules(random);
  if (gain > 0) energy.systematic = {{"gpu:a/gain", Joules(gain * joules)}};
  energy.status = Status::kMeasured;
  made.energy.output_token = energy;
  made.energy.response = energy * 200;
  return made;
}

BenchVerdict verdict(const BenchResult& a, const BenchResult& b, double above = 0.05) {
  return compare_bench(a, b, {.fail_above = above}).value().verdict;
}

TEST(BenchCompare, WorseOnlyBeyondTheAllowanceAndTheUncertainty) {
  const BenchResult base = result(1, 0.001);
  EXPECT_EQ(verdict(base, base), BenchVerdict::kSame);
  EXPECT_EQ(verdict(base, result(1.04, 0.001)), BenchVerdict::kSame);
  EXPECT_EQ(verdict(base, result(1.08, 0.001)), BenchVerdict::kWorse);
  EXPECT_EQ(verdict(base, result(1.08, 0.02)), BenchVerdict::kSame) << "it may be chance";
  EXPECT_EQ(verdict(base, result(1.2, 0.14)), BenchVerdict::kUnknown) << "anything would pass";
  EXPECT_EQ(verdict(base, result(0.9, 0.001)), BenchVerdict::kBetter);
  EXPECT_EQ(verdict(base, result(0.99, 0.02)), BenchVerdict::kSame);
  EXPECT_EQ(verdict(base, result(0.6, 0.05)), BenchVerdict::kBetter);
  EXPECT_EQ(verdict(base, result(1.08, 0.001), 0.1), BenchVerdict::kSame);
  EXPECT_EQ(verdict(base, result(1.01, 0.001), 0), BenchVerdict::kWorse);
}

TEST(BenchCompare, OneSensorsGainCancels) {
  EXPECT_EQ(verdict(result(1, 0.001, 0.05), result(1.08, 0.001, 0.05)), BenchVerdict::kWorse);
  BenchResult other = result(1.08, 0.001, 0.05);
  other.energy.output_token->systematic.front().sensor = "gpu:b/gain";
  EXPECT_EQ(verdict(result(1, 0.001, 0.05), other), BenchVerdict::kUnknown);
  EXPECT_EQ(verdict(result(1, 0.001, 0.05), other, 0.2), BenchVerdict::kSame);
}

TEST(BenchCompare, WhatCannotBeHeldAgainstAnythingHasNoVerdict) {
  BenchResult none = result(1, 0.001);
  none.energy = {};
  EXPECT_EQ(verdict(none, result(1, 0.001)), BenchVerdict::kUnknown);
  BenchResult is_void = result(1, 0.001);
  is_void.validity = {"the client was the bottleneck"};
  const auto found = compare_bench(result(1, 0.001), is_void, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->verdict, BenchVerdict::kUnknown);
  EXPECT_NE(found->reason.find("second result is void: the client"), std::string::npos);
  BenchResult bound = result(1, 0.001);
  bound.energy.output_token->lower_bound = true;
  EXPECT_EQ(verdict(result(1, 0.001), bound), BenchVerdict::kUnknown);
  BenchResult image = result(1, 0.001);
  image.kind = BenchKind::kImage;
  EXPECT_FALSE(compare_bench(result(1, 0.001), image, {}));
  EXPECT_FALSE(compare_bench(result(1, 0), result(1, 0), {.fail_above = -1}));
}

TEST(BenchCompare, UnlikeSettingsAndUnstatedUncertaintiesAreSaid) {
  BenchResult a = result(1, 0.001), b = result(1, 0);
  a.lengths.mean_output = 200;
  b.lengths.mean_output = 203;
  a.load.concurrency = 8;
  b.load.concurrency = 16;
  const auto found = compare_bench(a, b, {.unit = BenchUnit::kResponse});
  ASSERT_TRUE(found);
  ASSERT_EQ(found->unlike.size(), 1u);
  EXPECT_EQ(found->unlike[0], "concurrency: 8 and 16");
  ASSERT_EQ(found->notes.size(), 1u);
  b.lengths.mean_output = 220;
  EXPECT_EQ(compare_bench(a, b, {})->unlike.size(), 2u);
}

}  // namespace
}  // namespace perjoule
