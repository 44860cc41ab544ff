// A plan: the setting of the knobs for every instruction of one iteration, made from measured
// options only.
//
//   const double bound = frontier.cost_at(schedule.makespan);
//   const PipelinePlan plan = round_schedule(problem, schedule, bound);
//   plan.effective - plan.bound;   // J above the least that any plan of that time can have
//
// The exact schedule gives an instruction any duration between two measured ones; the hardware has
// only those that were measured. Rounding keeps the iteration's time:
//   1. dither: in order, each instruction takes the most frugal option that ends by its time in the
//      exact schedule. What one leaves over, the next one has.
//   2. give back: what is left over where stages wait for one another goes to the instructions that
//      save most by it.
//   3. mix: where all stages of a steady pipeline would need a duration that no option has, each
//      microbatch loses by rounding. Then the first microbatches run as in a slower plan that loses
//      little and the others as in a faster one.
//   4. polish: an instruction is made faster where others save more by the time that it leaves.
//   5. dive: what would need a duration between two options is held to the faster one, and the rest
//      is solved anew.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "pipeline/problem.h"
#include "pipeline/time_cost_frontier.h"

namespace perjoule {

struct PipelinePlan {
  Ticks requested = 0;   ///< the iteration's time asked for
  Ticks makespan = 0;    ///< and what the plan takes, not above it
  double effective = 0;  ///< J: the sum of the options' effective energies
  double bound = 0;      ///< J: no plan of the requested time has less (by linear programming)
  std::vector<std::uint32_t> option;  ///< by activity, into problem.options(its class)
};

/// The plan as simulate_iteration() takes it: by activity, into profiled(class).options.
std::vector<std::uint32_t> measured_options(const PipelineProblem& problem,
                                            const PipelinePlan& plan);

/// Steps 1 and 2: rounds an exact schedule to measured options. The plan ends no later than the
/// schedule's makespan. O(activities x options) for each of a bounded number of passes.
PipelinePlan round_schedule(const PipelineProblem& problem, const Schedule& schedule, double bound);

/// Step 3: `slow` for as many of the first, or of the last, microbatches as the makespan allows,
/// `fast` for the others, which alone keeps it. O(activities log microbatches).
PipelinePlan mix_plans(const PipelineProblem& problem, const PipelinePlan& fast,
                       const PipelinePlan& slow, Ticks makespan, double bound);

/// Step 4, once through all activities. O(activities^2); never worse than the plan.
PipelinePlan polish_plan(const PipelineProblem& problem, const PipelinePlan& plan);

/// Step 5 for one makespan; never worse than rounding alone. Costs a solution down to that
/// makespan.
Result<PipelinePlan> dive(const PipelineProblem& problem, const Schedule& schedule, double bound);

}  // namespace perjoule
