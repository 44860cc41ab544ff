// A plan: the setting of the knobs for every instruction of one iteration, made from measured
// options only.
//
//   const double bound = frontier.cost_at(schedule.makespan);
//   const PipelinePlan plan = round_schedule(problem, schedule, bound);
//   plan.effective - plan.bound;   // J above the least that any plan of that time can have
//
// The exact schedule gives an instruction any duration between two measured ones; the hardware has
// only those that were measured. What a tick of an instruction is worth is the exact schedule's
// flow through it (Schedule::price): at that price the two options on either side of the exact
// duration cost the same, and what is lost is waiting. Rounding keeps the iteration's time:
//   1. dither: in order, or against it, each instruction takes the option that is best at the price
//      of its ticks and keeps its time in the exact schedule. What one leaves over, the next one
//      has.
//   2. give back: what is left over where stages wait for one another goes to the instructions that
//      save most by it.
//   3. mix: where all stages of a steady pipeline would need a duration that no option has, each
//      microbatch loses by rounding. Then the pipeline runs as in a slower plan that loses little
//      until some time, and as in a faster one from then on.
//   4. refine: a stretch of time is chosen anew, again and again (refinement.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "pipeline/plan/problem.h"
#include "pipeline/solver/time_cost_frontier.h"

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

/// Step 3: `slow` for as many of the first, or of the last, instructions in time as the makespan
/// allows, `fast` for the others, which alone keeps it. O(activities log activities).
PipelinePlan mix_plans(const PipelineProblem& problem, const PipelinePlan& fast,
                       const PipelinePlan& slow, Ticks makespan, double bound);

struct RefinementLimit {
  int most_tries = 0;
  double enough = 0;  ///< J above the bound at which it stops
  int tried = 0;      ///< windows before: others are tried now
};

/// Step 4: never worse than the plan, whose makespan is that of `schedule`. Some 2 us a try.
PipelinePlan refine_plan(const PipelineProblem& problem, const Schedule& schedule,
                         const PipelinePlan& plan, const RefinementLimit& limit);

}  // namespace perjoule
