// What the ranks of one training run next: profiles them, plans, hands out settings iteration by
// iteration, and follows stragglers and times that drift.
//
//   PJ_TRY(auto service, PlanService::make(job, how));
//   PJ_TRY(const RankWelcome welcome, service->join(place));
//   for (i = 0;; ++i) { PJ_TRY(const RankOrders orders, service->next(rank, i, report)); ... }
//   service->straggle(1, {.slowdown = 1.2});  ...  service->straggler_over(1);
//
// It knows neither sockets nor devices. All members may be called from any thread. The settings of
// an iteration are decided when the first rank asks for it, and are the same for all that ask
// later.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/energy.h"
#include "base/result.h"
#include "pipeline/runtime/comparison_turns.h"
#include "pipeline/runtime/drift_watch.h"
#include "pipeline/runtime/measured_profile.h"
#include "pipeline/runtime/rank_report.h"
#include "pipeline/runtime/runtime_plans.h"
#include "pipeline/runtime/stretch.h"

namespace perjoule {

/// What is trained.
struct PipelineJob {
  std::string schedule = "1f1b";  ///< a name or an order file
  ScheduleShape shape;
  int pipelines = 1;  ///< data-parallel replicas
  int tensor = 1;     ///< GPUs, and ranks, of each stage
};

/// How the service goes about it.
struct RuntimeRequest {
  std::optional<PipelineProfile> profile = {};  ///< none: the job is profiled first
  BlockingPower power = {};                     ///< with a profile
  /// To profile; the first one is the highest. Empty: eight clocks of the first rank's range.
  std::vector<Config> settings = {};
  bool only_profile = false;  ///< nothing is planned
  int warm_up = 2;            ///< iterations, before anything
  int rounds = 5;             ///< how often each setting is profiled
  /// Iterations at the highest setting before plans come into force, and again when one has stood
  /// for as many, to compare.
  int highest = 5;
  /// Where it says nothing of switching, that is measured.
  RuntimePlans::Request plans = {};
  double drift =
      0.03;          ///< of an instruction's time against the profile, before all is planned anew
  int patience = 5;  ///< iterations that it must last
};

class PlanService {
 public:
  static Result<std::unique_ptr<PlanService>> make(PipelineJob job, RuntimeRequest request);
  ~PlanService();

  /// invalid_argument for a place that the job does not have, conflict for one that is taken.
  Result<RankWelcome> join(const RankPlace& place);
  /// The orders of an iteration, with what the rank measured in the one before; iterations of all
  /// ranks are numbered alike, from 0. invalid_argument for a report that does not fit the rank's
  /// order, conflict for an iteration that is long over.
  Result<RankOrders> next(int rank, std::int64_t iteration,
                          const std::optional<IterationReport>& report);
  /// The rank trains no more; what it last measured.
  Outcome leave(int rank, const std::optional<IterationReport>& report);

  /// From the next iteration that nobody has asked for, all other pipelines take their time until
  /// `pipeline` is through: so many times the highest setting's time, or that time.
  struct Straggle {
    double slowdown = 0;
    Seconds until;
  };
  Outcome straggle(int pipeline, const Straggle& straggle);
  Outcome straggler_over(int pipeline);

  /// A run of iterations under the same orders, over all ranks.
  struct Summary {
    RuntimePhase phase = RuntimePhase::kWarmUp;
    std::string name;  ///< of the settings
    std::int64_t epoch = 0;
    std::int64_t first = 0;       ///< iteration
    std::int64_t iterations = 0;  ///< that all ranks reported
    Seconds time;                 ///< of one: the slowest rank's, mean
    Seconds median_time;          ///< of one that nothing held up
    Energy energy;                ///< of one, all ranks
    Seconds planned_time;         ///< 0 where nobody planned it
    Joules planned_energy;        ///< of all pipelines
    double gap = 0;
  };
  /// How many have joined.
  std::size_t ranks() const;
  std::vector<Summary> summaries() const;
  /// The plan beside the highest setting, an iteration of each.
  struct Comparison {
    Summary highest;
    Summary plan;
    /// The plan ran before and behind the highest setting (comparison_turns.h). Without that, the
    /// longest run of each, one behind the other: the training was too short, or plans never stood.
    bool in_turns = false;
  };
  std::optional<Comparison> comparison() const;
  struct Progress {
    std::int64_t iteration = 0;  ///< the newest
    RuntimePhase phase = RuntimePhase::kWarmUp;
    double share = 0;  ///< of the iterations until plans come into force
  };
  Progress progress() const;
  /// What was profiled, once it was.
  std::optional<MeasuredProfile::Answer> measured() const;
  /// What a change of setting takes, as told or as measured, and the margin that plans have learnt.
  SwitchCost switching() const;
  double margin() const;
  /// The plans in force, once there are some.
  std::shared_ptr<const RuntimePlans> plans() const;
  /// Why there is no profile or no plan; none while all is well.
  std::optional<Error> failure() const;
  /// Waits until no plan is being made.
  void settle();

  const PipelineSchedule& schedule() const { return schedule_; }
  const PipelineJob& job() const { return job_; }

 private:
  struct Decision {
    std::int64_t epoch = 0;
    RuntimePhase phase = RuntimePhase::kWarmUp;
    std::size_t setting = 0;  ///< of kProfile
    std::shared_ptr<const StageSettings> usual;
    std::shared_ptr<const StageSettings> waiting;  ///< of pipelines that wait for a straggler
    std::set<int> stragglers;
    std::shared_ptr<const RuntimePlans> plans;  ///< that they are of
    ComparisonTurns::Turn turn = ComparisonTurns::Turn::kPlan;
    bool same_orders(const Decision& other) const {
      return phase == other.phase && usual == other.usual && waiting == other.waiting &&
             stragglers == other.stragglers && turn == other.turn;
    }
  };
  struct Stretch {
    Decision decision;
    std::int64_t first = 0;
    std::map<int, RankStretch> ranks;
  };
  struct Rank {
    RankPlace place;
    CounterCourse counter;
    std::int64_t told = -1;  ///< the last iteration that it reported
    bool gone = false;
  };

  PlanService(PipelineJob job, RuntimeRequest request, PipelineSchedule schedule);
  std::size_t ranks_in_all() const {
    return static_cast<std::size_t>(job_.pipelines * job_.tensor) * schedule_.stages.size();
  }
  Decision decide(std::int64_t iteration);
  void decide_plan(Decision& decision);
  std::optional<Summary> summary_of(const Stretch& stretch) const;
  std::int64_t profile_ends() const;
  Outcome take(int rank, const IterationReport& report);
  void check_all_ran(const Rank& rank, const IterationReport& report);
  void look_for_end_of_profile();
  void follow_drift(const Rank& rank, const IterationReport& report, const Decision& decision);
  bool learn_switching();
  std::optional<Energy> energy_of(const Stretch& stretch) const;
  bool learn_margin(const Decision& decision);
  void choose_settings(const RankPlace& place);
  void start_planning(PipelineProfile profile, BlockingPower power);

  PipelineJob job_;
  RuntimeRequest request_;
  PipelineSchedule schedule_;

  mutable std::mutex mutex_;  ///< guards all below
  std::vector<Rank> ranks_;
  std::vector<std::shared_ptr<const StageSettings>> at_setting_;
  std::map<std::int64_t, Decision> decisions_;  ///< of the last iterations
  std::deque<Stretch> stretches_;
  std::int64_t highest_decided_ = 0;  ///< iterations
  ComparisonTurns turns_;
  MeasuredProfile measuring_;
  std::optional<MeasuredProfile::Answer> measured_;
  std::shared_ptr<const RuntimePlans> plans_;
  std::shared_ptr<const RuntimePlans> first_plans_;  ///< of the profile as it was measured
  std::shared_ptr<const StageSettings> usual_;
  std::shared_ptr<const StageSettings> highest_;
  std::map<int, Straggle> stragglers_;
  std::shared_ptr<const StageSettings> waiting_;  ///< for those; null where it must be looked up
  bool measures_switching_;  ///< for nobody has said what a change of setting takes
  DriftWatch drift_;
  std::optional<Error> failure_;
  bool planning_ = false;
  Seconds planning_took_;  ///< last time; the planner's own
  std::thread planner_;
};

}  // namespace perjoule
