#include "fleet/plan/pool_integer_programme.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

PoolProblem small_problem() {
  return {{{"a", 1, 8, {{800, Watts(153.8), 0}, {1600, Watts(191), 0}}}}, 2400, {}};
}

TEST(PoolIntegerProgrammeTest, WithoutTheLibraryItSaysWhatToInstall) {
  const auto plan = solve_pool_by_cbc(small_problem(), "libNoSuchSolver.so.3");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(plan.error().text().find("coinor-libcbc3"), std::string::npos) << plan.error().text();
}

TEST(PoolIntegerProgrammeTest, ALibraryWithoutItsFunctionsIsNotSupported) {
  const auto plan = solve_pool_by_cbc(small_problem(), "libc.so.6");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kNotSupported);
}

TEST(PoolIntegerProgrammeTest, OneOfEachIsCheapest) {
  const auto plan = solve_pool_by_cbc(small_problem());
  if (!plan && plan.error().code == ErrorCode::kUnavailable) GTEST_SKIP() << plan.error().text();
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_NEAR(plan->power.value(), 344.8, 1e-9);
  EXPECT_EQ(plan->uses, (std::vector<PoolUse>{{0, 0, 1}, {0, 1, 1}}));
}

// What random problems found: CBC 2.10.8 with its integer preprocessing answers 146 W.
TEST(PoolIntegerProgrammeTest, TheLeastIsFoundWhereCbcsPreprocessingMissesIt) {
  const PoolProblem problem{
      {{"a", 1, 3, {{350, Watts(29), 0}, {100, Watts(1), 0}}}, {"b", 1, 3, {{150, Watts(29), 0}}}},
      1201,
      {}};
  const auto plan = solve_pool_by_cbc(problem);
  if (!plan && plan.error().code == ErrorCode::kUnavailable) GTEST_SKIP() << plan.error().text();
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_NEAR(plan->power.value(), 145, 1e-9);
}

TEST(PoolIntegerProgrammeTest, WhatCannotBeServedIsInfeasible) {
  PoolProblem problem = small_problem();
  problem.kinds.front().most = 1;
  const auto plan = solve_pool_by_cbc(problem);
  if (!plan && plan.error().code == ErrorCode::kUnavailable) GTEST_SKIP() << plan.error().text();
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_FALSE(plan->feasible);
}

}  // namespace
}  // namespace perjoule
