// Plans for hardware that changes its setting slowly: fewer changes, each of which pays.
//
//   plan = plan_with_switches(problem, plans, requested);
//
// Rounding gives every instruction the option that is best for it, which may change the clock
// before each. Where a change takes time and energy (PipelineProblem::switching), a local search
// weighs them: from the slowest of the plans that is in time with its changes, and from one setting
// for each stage, it gives runs of equal settings to a neighbour's setting, and the first or last
// instructions of a stage, or all but these, to any other, as long as the sum of effective and
// switching energies falls and the iteration, changes included, takes no longer than was asked for.
#pragma once

#include <span>

#include "pipeline/plan/plan.h"
#include "pipeline/plan/problem.h"

namespace perjoule {

/// The plan for `requested` ticks that takes least of those found, with what its changes take in
/// `makespan` and `effective`. `plans` are those of the problem without switching, fastest first;
/// the answer takes longer than `requested` only where no plan that was found does not. `faster`,
/// where there is one, is this function's plan for less time: the search starts from it too, so
/// that no slower plan takes more. O(activities x settings) simulations of O(activities) for each
/// of a few rounds.
PipelinePlan plan_with_switches(const PipelineProblem& problem, std::span<const PipelinePlan> plans,
                                Ticks requested, double bound, const PipelinePlan* faster);

/// Of equal plans the one with fewer changes: a run of equal settings takes a neighbour's where
/// that costs neither energy nor, for the iteration, time. O(activities) but for runs that can.
PipelinePlan keep_equal_settings(const PipelineProblem& problem, PipelinePlan plan);

}  // namespace perjoule
