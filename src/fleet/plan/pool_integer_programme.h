// The pool problem (pool_problem.h) as an integer programme for COIN-OR's CBC, a second opinion on
// the exact solver. CBC is opened when it is first asked: the command needs none to start or build.
//
//   Result<PoolPlan> plan = solve_pool_by_cbc(problem);
//   if (!plan && plan.error().code == ErrorCode::kUnavailable) ...   // coinor-libcbc3 is not here
#pragma once

#include <string>

#include "base/result.h"
#include "fleet/plan/pool_problem.h"

namespace perjoule {

/// Of plans of the same power any one; powers agree with the exact solver's to CBC's tolerances,
/// 1e-6 relative. unavailable where CBC is not installed, not_supported where it lacks a function,
/// invalid_argument for a malformed problem, internal for an answer that is none. Not to be called
/// from two threads at once. `library` is what the loader looks for.
Result<PoolPlan> solve_pool_by_cbc(const PoolProblem& problem,
                                   const std::string& library = "libCbcSolver.so.3");

}  // namespace perjoule
