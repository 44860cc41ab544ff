#include "serving/board/response_energy.h"

#include <gtest/gtest.h>

#include <numeric>

namespace perjoule {
namespace {

BenchResult with_lengths(LengthHistogram lengths) {
  BenchResult r;
  r.energy.output_token = published_energy(Joules(0.5), "x");
  r.lengths.outputs = std::move(lengths);
  return r;
}

TEST(ResponseEnergy, IsLengthsTimesTheEnergyOfAToken) {
  const auto energies = response_energies(with_lengths({{0, 100, 200}, {3, 1}}));
  ASSERT_TRUE(energies);
  EXPECT_EQ(energies->edges, (std::vector<Joules>{Joules(0), Joules(50), Joules(100)}));
  // Two of four lie below two thirds of the first bin.
  EXPECT_NEAR(energies->p50.value(), 100.0 / 3, 1e-12);
  EXPECT_NEAR(energies->p90.value(), 80, 1e-12);
  EXPECT_NEAR(energies->p99.value(), 98, 1e-12);
}

TEST(ResponseEnergy, LogBinsKeepTheResponses) {
  const auto energies = response_energies(with_lengths({{0, 100, 200, 3000}, {3, 1, 5}}));
  ASSERT_TRUE(energies);
  const ResponseEnergies binned = in_log_bins(*energies);
  EXPECT_NEAR(std::accumulate(binned.counts.begin(), binned.counts.end(), 0.0), 9, 1e-9);
  EXPECT_EQ(binned.edges.front(), Joules(0));
  EXPECT_EQ(binned.edges[1], Joules(50));
  EXPECT_EQ(binned.edges[2], Joules(70));
  EXPECT_EQ(binned.edges.back(), Joules(1500));
  EXPECT_NEAR(binned.counts[1], 0.4, 1e-12);
  EXPECT_EQ(binned.edges.size(), binned.counts.size() + 1);
}

TEST(ResponseEnergy, WhatIsNoHistogramHasNone) {
  EXPECT_FALSE(response_energies(BenchResult{}));
  EXPECT_FALSE(response_energies(with_lengths({{}, {}})));
  EXPECT_FALSE(response_energies(with_lengths({{0, 1}, {0}})));
  EXPECT_FALSE(response_energies(with_lengths({{0, 1}, {-1}})));
  EXPECT_FALSE(response_energies(with_lengths({{1, 0}, {1}})));
  EXPECT_FALSE(response_energies(with_lengths({{0, 1, 2}, {1}})));
}

}  // namespace
}  // namespace perjoule
