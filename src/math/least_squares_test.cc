#include "math/least_squares.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "math/random.h"

namespace perjoule {
namespace {

constexpr LeastSquares::Prior kWide{.mean = 0, .sigma = 1e6};

TEST(LeastSquares, ExactEquationsGiveTheirSolution) {
  LeastSquares fit(2);
  fit.add(std::vector{1.0, 0.0}, 3);
  fit.add(std::vector{1.0, 2.0}, 11);
  fit.add(std::vector{2.0, 1.0}, 10);
  const auto solved = fit.solve(kWide, 1e-3);
  EXPECT_NEAR(solved.value[0], 3, 1e-6);
  EXPECT_NEAR(solved.value[1], 4, 1e-6);
}

TEST(LeastSquares, WhatNoEquationKnowsIsWhatWasExpected) {
  LeastSquares fit(2);
  for (int i = 1; i < 20; ++i) fit.add(std::vector{1.0 * i, 0.0}, 5.0 * i);
  const auto solved = fit.solve({.mean = 7, .sigma = 2}, 0.1);
  EXPECT_NEAR(solved.value[0], 5, 1e-3);
  EXPECT_NEAR(solved.value[1], 7, 1e-9);
  EXPECT_NEAR(solved.sigma[1], 2, 1e-9);
}

TEST(LeastSquares, OnlyTheSumOfTwoThatAlwaysComeTogetherIsKnown) {
  LeastSquares fit(2);
  for (int i = 1; i < 50; ++i) fit.add(std::vector{1.0 * i, 1.0 * i}, 10.0 * i);
  const auto solved = fit.solve({.mean = 4, .sigma = 3}, 0.1);
  EXPECT_NEAR(solved.value[0] + solved.value[1], 10, 1e-3);
  EXPECT_NEAR(solved.value[0], 5, 1e-3);
  EXPECT_NEAR(solved.sigma[0], 3 / std::sqrt(2), 0.01);
}

TEST(LeastSquares, AConstantOfEachGroupIsNoMatter) {
  LeastSquares fit(1);
  fit.add_with_constant(std::vector{1.0, 2.0, 3.0}, std::vector{102.0, 104.0, 106.0});
  fit.add_with_constant(std::vector{1.0, 4.0}, std::vector{-48.0, -42.0});
  fit.add_with_constant(std::vector{9.0}, std::vector{1e9});
  EXPECT_NEAR(fit.solve(kWide, 1e-3).value[0], 2, 1e-6);
}

RC_GTEST_PROP(LeastSquares, TheTruthLiesWithinFourStandardErrors, (std::uint64_t seed)) {
  Random random(seed);
  const std::vector<double> truth = {250, 310, 70};
  LeastSquares fit(3);
  for (int i = 0; i < 400; ++i) {
    std::vector<double> x(3);
    double y = 4 * random.normal();
    for (std::size_t u = 0; u < 3; ++u) y += truth[u] * (x[u] = random.uniform());
    fit.add(x, y);
  }
  const auto solved = fit.solve({.mean = 200, .sigma = 200}, 50);
  RC_ASSERT(std::abs(solved.noise / 4 - 1) < 0.2);
  for (std::size_t u = 0; u < 3; ++u)
    RC_ASSERT(std::abs(solved.value[u] - truth[u]) < 4.5 * solved.sigma[u]);
}

}  // namespace
}  // namespace perjoule
