// Plans of one pipeline over a range of iteration times, with what they are measured against.
//
//   PJ_TRY(const PipelineStudy study, study_pipeline(problem, {.points = 20}));
//   const PlannedIteration& plan = study.at_most(straggler_time, StragglerPolicy::kLeastUntil);
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pipeline/plan/iteration.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/problem.h"
#include "pipeline/solver/time_cost_frontier.h"

namespace perjoule {

/// Which iteration times to plan for. Times below the shortest are planned as that.
struct PlanRequest {
  int points = 0;                   ///< so many from the shortest to the longest that saves, evenly
  std::vector<Seconds> times = {};  ///< and these
  std::vector<double> slowdowns = {};  ///< and these multiples of the shortest
  bool least_energy = true;            ///< and T*, the one of least energy of all
  /// Of pipelines of more instructions only what is planned is solved, each time by itself: the
  /// whole frontier takes about the square of that.
  std::size_t most_for_whole_frontier = 10'000;
  SolveProgress progress = {};  ///< of such ones
};

struct PlannedIteration {
  PipelinePlan plan;
  Iteration iteration;  ///< the plan, simulated
  Joules bound;         ///< no plan of the requested time takes less until then
  Joules energy;        ///< what this one takes until the requested time
  /// (energy - bound) / bound; 0 where nothing takes energy.
  double gap() const { return bound.value() == 0 ? 0 : (energy - bound) / bound; }
};

/// Which plan a pipeline takes while another one keeps everybody waiting until T'.
enum class StragglerPolicy {
  /// min(T_eff, T'): least energy until T'. Everybody waits until then, so the blocking power is
  /// drawn whatever the plan does, and what counts is effective energy, which falls until T_eff.
  kLeastUntil,
  /// min(T*, T'): least energy of the pipeline's own iteration, as Perseus publishes it.
  kLeastAlone,
};

class PipelineStudy {
 public:
  const std::vector<PlannedIteration>& plans() const { return plans_; }  ///< fastest first
  const TimeCostFrontier& frontier() const { return frontier_; }
  /// The exact schedule whose makespan is nearest.
  const Schedule& schedule_near(Ticks makespan) const;
  const Iteration& highest() const { return highest_; }  ///< all at the highest setting
  Ticks shortest() const { return frontier_.shortest(); }
  Ticks least_energy() const { return least_energy_; }   ///< T*
  Ticks longest() const { return frontier_.longest(); }  ///< T_eff

  /// The plan to run while a straggler takes `until`: the slowest that the policy allows. O(log
  /// plans). Where even the fastest plan is slower than `until` (it is no straggler), the fastest.
  const PlannedIteration& for_straggler(Ticks until, StragglerPolicy policy) const;

 private:
  friend Result<PipelineStudy> study_pipeline(const PipelineProblem&, const PlanRequest&);
  std::vector<PlannedIteration> plans_;
  TimeCostFrontier frontier_;
  Iteration highest_;
  Ticks least_energy_ = 0;
};

/// Solves the frontier once, or of a long pipeline what is planned, and plans every time that was
/// asked for. Fails as solve_time_cost does,
/// and with invalid_argument for a time that is not above zero or a slowdown below 1.
Result<PipelineStudy> study_pipeline(const PipelineProblem& problem, const PlanRequest& request);

/// A plan with the exact schedule that it is made from.
struct Replanned {
  PlannedIteration plan;
  Schedule schedule;
};

/// One plan, from an exact schedule of the same pipeline whose profile has changed since
/// (time_cost_repair.h): a fraction of what study_pipeline() takes, which solves the whole
/// frontier. `before` may be of any makespan, but in the problem's ticks. The time is held to what
/// the pipeline can and what saves anything. Fails as repair_schedule does.
Result<Replanned> replan(const PipelineProblem& problem, const Schedule& before, Seconds time);

}  // namespace perjoule
