#include "serving/board/leaderboard.h"

#include <gtest/gtest.h>

#include <numeric>

namespace perjoule {
namespace {

BenchResult result(const std::string& model, double itl_ms, double energy, double length = 100) {
  BenchResult r;
  r.benchmark = "test";
  r.task = "chat";
  r.model.id = model;
  r.gpus = {"H100", "", 1};
  r.latency.itl.p50 = Seconds(itl_ms * 1e-3);
  r.energy.output_token = published_energy(Joules(energy), "test");
  r.energy.response = published_energy(Joules(energy * length), "test");
  return r;
}

std::vector<std::size_t> all_of(const std::vector<BenchResult>& results) {
  std::vector<std::size_t> rows(results.size());
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

Board board_of(const std::vector<BenchResult>& results, const BoardQuery& query) {
  const auto groups = board_groups(results, all_of(results), false);
  EXPECT_EQ(groups.size(), 1U);
  auto board = make_board(results, groups[0], query);
  EXPECT_TRUE(board) << board.error().text();
  return *board;
}

TEST(Leaderboard, OfEachModelTheLeastEnergyWithinTheDeadline) {
  const std::vector<BenchResult> results{result("a", 10, 1.0), result("a", 100, 0.2),
                                         result("a", 600, 0.1), result("b", 20, 0.5),
                                         result("c", 501, 0.01)};
  const Board board = board_of(results, {});
  ASSERT_EQ(board.rows.size(), 2U);
  EXPECT_EQ(board.rows[0].result, 1U);
  EXPECT_EQ(board.rows[0].fastest, 0U);
  EXPECT_DOUBLE_EQ(*board.rows[0].saved_per_unit, 0.8);
  EXPECT_EQ(board.rows[0].candidates, 3U);
  EXPECT_EQ(board.rows[0].feasible, 2U);
  EXPECT_EQ(board.rows[1].result, 3U);
  EXPECT_EQ(board.rows[0].stars_by_range, 5);
  EXPECT_EQ(board.rows[1].stars_by_range, 1);
  EXPECT_EQ(board.rows[1].stars_by_rank, 3);
  ASSERT_EQ(board.misses.size(), 1U);
  EXPECT_EQ(board.misses[0].nearest, 4U);
  EXPECT_NEAR(board.misses[0].miss.over, 0.002, 1e-12);
}

TEST(Leaderboard, BoundsAreInclusive) {
  const std::vector<BenchResult> results{result("a", 500, 0.25)};
  EXPECT_EQ(
      board_of(results, {.deadline = Seconds(0.5), .energy_budget = Joules(0.25)}).rows.size(), 1U);
  EXPECT_TRUE(board_of(results, {.deadline = Seconds(0.4999)}).rows.empty());
  EXPECT_TRUE(board_of(results, {.energy_budget = Joules(0.2499)}).rows.empty());
}

TEST(Leaderboard, TheFirstOfEqualEnergiesIsPicked) {
  const std::vector<BenchResult> results{result("a", 200, 0.5), result("a", 100, 0.5)};
  EXPECT_EQ(board_of(results, {}).rows[0].result, 0U);
}

TEST(Leaderboard, PerTokenAndPerResponseMayChooseDifferently) {
  const std::vector<BenchResult> results{result("a", 10, 1.0, 100), result("a", 100, 0.5, 300),
                                         result("a", 90, 0.6, 100)};
  const Board by_token = board_of(results, {});
  EXPECT_EQ(by_token.rows[0].result, 1U);
  EXPECT_DOUBLE_EQ(*by_token.rows[0].saved_per_unit, 0.5);
  EXPECT_DOUBLE_EQ(*by_token.rows[0].saved_per_response, -0.5);
  const Board by_response = board_of(results, {.per = EnergyPer::kResponse});
  EXPECT_EQ(by_response.rows[0].result, 2U);
  EXPECT_DOUBLE_EQ(by_response.rows[0].energy.value(), 60);
}

TEST(Leaderboard, BothBoundsMetByNoPointAtOnceHaveTheNearestMiss) {
  const std::vector<BenchResult> results{result("a", 10, 1.0), result("a", 100, 0.5)};
  const Board board = board_of(results, {.deadline = Seconds(0.05), .energy_budget = Joules(0.8)});
  ASSERT_EQ(board.misses.size(), 1U);
  EXPECT_EQ(board.misses[0].miss.quantity, "energy");
  EXPECT_EQ(board.misses[0].nearest, 0U);
  EXPECT_NEAR(board.misses[0].miss.over, 0.25, 1e-12);
}

TEST(Leaderboard, UnlikeBenchmarksAreApartUnlessPutTogether) {
  std::vector<BenchResult> results{result("a", 10, 1.0), result("b", 10, 1.0)};
  results[1].benchmark = "other";
  EXPECT_EQ(board_groups(results, all_of(results), false).size(), 2U);
  EXPECT_EQ(board_groups(results, all_of(results), true).size(), 1U);
  results[1].kind = BenchKind::kImage;
  EXPECT_EQ(board_groups(results, all_of(results), true).size(), 2U);
}

TEST(Leaderboard, WhereNoResultHasItlTpotIsTaken) {
  std::vector<BenchResult> results{result("a", 10, 1.0), result("a", 20, 0.5)};
  for (BenchResult& r : results) {
    r.latency.tpot.mean = r.latency.itl.p50;
    r.latency.itl = {};
  }
  const Board board = board_of(results, {});
  EXPECT_EQ(text_of(board.metric), "mean TPOT");
  const auto groups = board_groups(results, all_of(results), false);
  EXPECT_FALSE(make_board(results, groups[0], {.metric = parse_latency_metric("p99-itl").value()}));
}

TEST(Leaderboard, WhatLacksAFigureIsLeftOutAndCounted) {
  std::vector<BenchResult> results{result("a", 10, 1.0), result("b", 20, 0.5),
                                   result("c", 20, 0.5)};
  results[1].latency.itl.p50.reset();
  results[2].energy.output_token->lower_bound = true;
  const Board board = board_of(results, {});
  EXPECT_EQ(board.rows.size(), 1U);
  ASSERT_EQ(board.notes.size(), 2U);
  EXPECT_NE(board.notes[0].find("median ITL: 1 result"), std::string::npos);
  EXPECT_NE(board.notes[1].find("energy per token: 1 result"), std::string::npos);
}

TEST(Leaderboard, JoulesPerCorrectAnswer) {
  std::vector<BenchResult> results{result("a", 10, 1.0, 50)};
  EXPECT_FALSE(board_of(results, {}).rows[0].per_correct);
  results[0].quality.accuracy = 0.5;
  EXPECT_DOUBLE_EQ(board_of(results, {}).rows[0].per_correct->value(), 100);
  results[0].quality.accuracy = 0;
  EXPECT_FALSE(board_of(results, {}).rows[0].per_correct);
}

}  // namespace
}  // namespace perjoule
