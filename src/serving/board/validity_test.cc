#include "serving/board/validity.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

/// A result that passes every check.
BenchResult good() {
  BenchResult r;
  r.gpus = {"H100", "", 1};
  r.batch = {128, std::nullopt, 120.0};
  r.load.requests = r.load.completed = 1024;
  r.energy.output_token = published_energy(Joules(0.1), "x");
  r.power = Watts(600);
  BenchEvidence& e = r.evidence;
  e.window = Seconds(45);
  e.sampling_share = 0.99;
  e.instant_low = e.average_low = Watts(80);
  e.instant_high = Watts(800);
  e.average_high = Watts(690);
  e.memory_low = Watts(20);
  e.memory_high = Watts(90);
  e.temperature_outside_share = 0;
  e.length_limit_share = 0.01;
  e.cache_use = 0.9;
  e.engine_errors = 0;
  return r;
}

CheckState state_of(const BenchResult& r, std::string_view rule) {
  for (const ValidityCheck& check : check_validity(r)) {
    if (check.rule == rule) return check.state;
  }
  ADD_FAILURE() << rule;
  return CheckState::kNotChecked;
}

TEST(Validity, AGoodResultPassesAll) {
  const auto checks = check_validity(good());
  EXPECT_EQ(checks.size(), 12U);
  EXPECT_EQ(count_of(checks, CheckState::kPassed), 12U);
  const auto smaller = check_validity(good(), false);
  EXPECT_EQ(smaller.back().state, CheckState::kNotChecked);
}

TEST(Validity, WhatIsNotRecordedIsNotChecked) {
  const auto checks = check_validity(BenchResult{});
  EXPECT_EQ(count_of(checks, CheckState::kNotChecked), 12U);
  for (const ValidityCheck& check : checks)
    EXPECT_NE(check.figure.find("not stated"), std::string::npos) << check.rule;
}

TEST(Validity, EachRuleAtItsBound) {
  const auto with = [](auto&& change) {
    BenchResult r = good();
    change(r);
    return r;
  };
  const auto expect = [](const BenchResult& r, std::string_view rule, CheckState state) {
    EXPECT_EQ(state_of(r, rule), state) << rule;
    EXPECT_EQ(count_of(check_validity(r), CheckState::kPassed),
              state == CheckState::kPassed ? 12U : 11U)
        << rule;
  };
  constexpr auto kFailed = CheckState::kFailed;
  constexpr auto kWarned = CheckState::kWarned;
  constexpr auto kPassed = CheckState::kPassed;
  using R = BenchResult;
  expect(with([](R& r) { r.evidence.window = Seconds(30); }), "window", kPassed);
  expect(with([](R& r) { r.evidence.window = Seconds(29.9); }), "window", kFailed);
  expect(with([](R& r) { r.load.completed = 1023; }), "requests", kFailed);
  expect(with([](R& r) { r.energy.output_token->joules = Joules(100); }), "energy per token",
         kPassed);
  expect(with([](R& r) { r.energy.output_token->joules = Joules(101); }), "energy per token",
         kFailed);
  expect(with([](R& r) { r.evidence.instant_low = Watts(69); }), "instant power", kFailed);
  expect(with([](R& r) { r.evidence.instant_high = Watts(1191); }), "instant power", kFailed);
  expect(with([](R& r) { r.evidence.average_high = Watts(771); }), "average power", kFailed);
  expect(with([](R& r) { r.evidence.memory_high = Watts(351); }), "memory power", kFailed);
  expect(with([](R& r) { r.evidence.temperature_outside_share = 0.05; }), "temperature", kFailed);
  expect(with([](R& r) { r.evidence.engine_errors = 1; }), "engine", kFailed);
  expect(with([](R& r) { r.evidence.sampling_share = 0.74; }), "sampling", kWarned);
  expect(with([](R& r) { r.batch.mean = 102; }), "mean batch", kWarned);
  expect(with([](R& r) { r.evidence.length_limit_share = 0.3; }), "length limit", kWarned);
  expect(with([](R& r) { r.evidence.cache_use = 0.79; }), "cache", kWarned);
}

TEST(Validity, TheMeanOfTheRunStandsInForReadings) {
  BenchResult r;
  r.gpus = {"H100", "", 4};
  r.power = Watts(2400);
  EXPECT_EQ(state_of(r, "average power"), CheckState::kPassed);
  r.power = Watts(4000);
  EXPECT_EQ(state_of(r, "average power"), CheckState::kFailed);
  r.gpus.model = "unknown chip";
  EXPECT_EQ(state_of(r, "average power"), CheckState::kNotChecked);
}

TEST(Validity, OnceABatchIsNotStableNoLargerOneIs) {
  std::vector<BenchResult> results(5, good());
  const std::int64_t limits[] = {512, 8, 128, 256, 256};
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].model.id = "m";
    results[i].batch.max_num_seqs = limits[i];
    results[i].batch.mean = 0.9 * static_cast<double>(limits[i]);
  }
  results[2].batch.mean = 100;  // 78 % of 128
  results[4].gpus.count = 2;    // another group
  const auto reasons = instabilities(results);
  EXPECT_NE(reasons[0].find("128"), std::string::npos);
  EXPECT_TRUE(reasons[1].empty());
  EXPECT_NE(reasons[2].find("78.1 %"), std::string::npos) << reasons[2];
  EXPECT_FALSE(reasons[3].empty());
  EXPECT_TRUE(reasons[4].empty());
  EXPECT_EQ(largest_batches(results), (std::vector<bool>{true, false, false, false, true}));
}

}  // namespace
}  // namespace perjoule
