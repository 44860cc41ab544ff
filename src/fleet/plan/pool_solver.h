// The pool problem (pool_problem.h) exactly, without a solver library.
//
//   PJ_TRY(const PoolPlan plan, solve_pool(problem));
//   if (!plan.feasible) ...
//
// Rows that another row of their kind beats (no less load, no more power) are never needed and are
// left out first. Then one of two ways, both exact:
//
// - On a grid, where the loads of all rows are multiples of one step: with T = ceil(load / step)
//   and G GPUs (1 where they are not limited), dynamic programming over (GPUs used, load carried,
//   cut at T), an instance at a time: O(sum of most(k) x rows(k) x T x G).
// - By labels, where they share no step or the grid is too fine: partial pools (load, power, GPUs)
//   of which none is beaten by another, an instance at a time. Exponential in the worst case, as
//   the problem is NP-hard with arbitrary loads; in practice one label for every sum that differs.
#pragma once

#include "base/result.h"
#include "fleet/plan/pool_problem.h"

namespace perjoule {

/// Of plans of the same power any one. invalid_argument for a malformed problem; not_supported
/// where both ways would take more than some seconds and some GB, naming the size.
Result<PoolPlan> solve_pool(const PoolProblem& problem);

/// The greatest number that all loads of all rows are whole multiples of, looked for down to
/// 1/1000 token a second; 0 where there is none. O(rows x log(load)).
double common_step(const PoolProblem& problem);

/// The second way alone, for tests.
Result<PoolPlan> solve_pool_by_labels(const PoolProblem& problem);

}  // namespace perjoule
