#include "fleet/plan/pool_solver.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>

#include "fleet/plan/pool_integer_programme.h"

namespace perjoule {
namespace {

/// Kinds with loads on a grid of 50, or, where `rough`, of no common step.
PoolProblem any_problem(bool rough) {
  PoolProblem problem;
  const int kinds = *rc::gen::inRange(1, 4);
  for (int k = 0; k < kinds; ++k) {
    PoolKind kind{"k" + std::to_string(k), *rc::gen::inRange(1, 5), *rc::gen::inRange(0, 4), {}};
    const int rows = *rc::gen::inRange(0, 4);
    for (int r = 0; r < rows; ++r) {
      double load = 50.0 * *rc::gen::inRange(1, 12);
      if (rough) load *= std::sqrt(2.0 + k + r);
      kind.rows.push_back({load, Watts(*rc::gen::inRange(1, 400)), 0});
    }
    problem.kinds.push_back(std::move(kind));
  }
  problem.load = *rc::gen::inRange(0, 2500);
  if (*rc::gen::inRange(0, 2) == 1) problem.most_gpus = *rc::gen::inRange(0, 16);
  return problem;
}

/// Every multiset of rows of every kind: from the definition alone.
double exhaustive(const PoolProblem& problem) {
  double best = std::numeric_limits<double>::infinity();
  const std::function<void(std::size_t, std::size_t, int, double, double, int)> go =
      [&](std::size_t kind, std::size_t row, int used, double load, double power, int gpus) {
        if (problem.most_gpus && gpus > *problem.most_gpus) return;
        if (load >= problem.load) best = std::min(best, power);
        if (kind == problem.kinds.size()) return;
        const PoolKind& of = problem.kinds[kind];
        if (row == of.rows.size()) return go(kind + 1, 0, 0, load, power, gpus);
        go(kind, row + 1, used, load, power, gpus);
        if (used < of.most) {
          go(kind, row, used + 1, load + of.rows[row].load, power + of.rows[row].power.value(),
             gpus + of.gpus);
        }
      };
  go(0, 0, 0, 0, 0, 0);
  return best;
}

void check_plan(const PoolProblem& problem, const PoolPlan& plan, double best) {
  RC_ASSERT(plan.feasible == std::isfinite(best));
  if (!plan.feasible) return;
  RC_ASSERT(std::abs(plan.power.value() - best) <= 1e-6);
  RC_ASSERT(plan.capacity >= problem.load * (1 - 1e-9));
  RC_ASSERT(!problem.most_gpus || plan.gpus <= *problem.most_gpus);
  for (std::size_t k = 0; k < problem.kinds.size(); ++k) {
    int count = 0;
    for (const PoolUse& use : plan.uses) count += use.kind == k ? use.count : 0;
    RC_ASSERT(count <= problem.kinds[k].most);
  }
}

void check_all_ways(const PoolProblem& problem) {
  const double best = exhaustive(problem);
  const auto exact = solve_pool(problem);
  RC_ASSERT(exact.has_value());
  check_plan(problem, *exact, best);
  const auto labels = solve_pool_by_labels(problem);
  RC_ASSERT(labels.has_value());
  check_plan(problem, *labels, best);
  const auto cbc = solve_pool_by_cbc(problem);
  if (!cbc && cbc.error().code == ErrorCode::kUnavailable) return;
  RC_ASSERT(cbc.has_value());
  check_plan(problem, *cbc, best);
}

RC_GTEST_PROP(PoolProperty, AllWaysFindTheLeastPowerOnAGrid, ()) {
  check_all_ways(any_problem(false));
}

RC_GTEST_PROP(PoolProperty, AllWaysFindTheLeastPowerWithoutACommonStep, ()) {
  check_all_ways(any_problem(true));
}

TEST(PoolSolverTest, StepsAreFoundDownToAThousandth) {
  PoolProblem problem{{{"k", 1, 1, {{600, Watts(1), 0}, {1500, Watts(1), 0}}}}, 1, {}};
  EXPECT_EQ(common_step(problem), 300);
  problem.kinds[0].rows[0].load = 0.125;
  EXPECT_EQ(common_step(problem), 0.125);
  problem.kinds[0].rows[0].load = std::sqrt(2);
  EXPECT_EQ(common_step(problem), 0);
}

TEST(PoolSolverTest, ManyInstancesTakeNoLongerThanTheirLoad) {
  const PoolProblem problem{
      {{"k", 2, 1'000'000'000, {{100, Watts(10), 0}, {300, Watts(25), 0}}}}, 100'000, {}};
  const auto plan = solve_pool(problem);
  ASSERT_TRUE(plan);
  // 333 at 300 and one at 100.
  EXPECT_DOUBLE_EQ(plan->power.value(), 333 * 25 + 10);
  EXPECT_EQ(plan->gpus, 668);
}

TEST(PoolSolverTest, WhatIsNoProblemIsRefused) {
  const PoolRow row{100, Watts(10), 0};
  const auto code = [](const PoolProblem& problem) {
    const auto plan = solve_pool(problem);
    return plan ? ErrorCode::kOk : plan.error().code;
  };
  EXPECT_EQ(code({{{"k", 1, 1, {row}}}, std::nan(""), {}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({{{"k", 0, 1, {row}}}, 1, {}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({{{"k", 1, -1, {row}}}, 1, {}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({{{"k", 1, 1, {{0, Watts(1), 0}}}}, 1, {}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({{{"k", 1, 1, {{1, Watts(std::nan("")), 0}}}}, 1, {}}),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({{}, 1, -1}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({{}, 1, {}}), ErrorCode::kOk);
}

TEST(PoolSolverTest, NoLoadTakesNoInstance) {
  const auto plan = solve_pool({{{"k", 1, 1, {{100, Watts(10), 0}}}}, 0, {}});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->feasible);
  EXPECT_TRUE(plan->uses.empty());
}

}  // namespace
}  // namespace perjoule
