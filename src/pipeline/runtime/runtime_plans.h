// The plans of one profile, ready to be handed out: look-up takes microseconds, planning does not.
//
//   PJ_TRY(auto plans, RuntimePlans::make(profile, power, schedule, {.slowdown = 1}));
//   plans->usual()                     // nobody straggles
//   plans->until(Seconds(3.4))         // somebody does, until then
//   plans->highest()                   // all at the highest setting
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/plan/planner.h"
#include "pipeline/runtime/rank_report.h"
#include "pipeline/runtime/switch_law.h"

namespace perjoule {

/// The settings of every instruction of a pipeline, and what the profile says they take.
struct StageSettings {
  std::string name;                              ///< "plan", "highest setting", ...
  std::vector<Config> knobs;                     ///< settings
  std::vector<std::vector<std::uint32_t>> knob;  ///< by stage and position, into `knobs`
  /// Of an iteration; 0 where nobody has planned it.
  Seconds time;
  Joules energy;
  std::size_t switches = 0;  ///< of settings, in an iteration
  double gap = 0;            ///< of the energy above the least possible one, relative

  /// All instructions of the schedule at one setting.
  static StageSettings all_at(const PipelineSchedule& schedule, const Config& setting,
                              std::string name);
};

class RuntimePlans {
 public:
  struct Request {
    double slowdown = 1;  ///< the usual plan takes at most so many times the highest setting's time
    int points = 30;      ///< plans to look up among
    SwitchCost switching = {};
    /// Plans as if all but the fastest option of an instruction took so much longer (0.01: 1 %):
    /// the slack that is left for what hardware adds to a profile, in an iteration that has none
    /// else.
    double margin = 0;
  };
  /// Solves and plans; the schedule must outlive it. Fails as PipelineProblem::make and
  /// study_pipeline do.
  static Result<std::shared_ptr<const RuntimePlans>> make(const PipelineProfile& profile,
                                                          const BlockingPower& power,
                                                          const PipelineSchedule& schedule,
                                                          const Request& request);

  /// The usual plan of a profile that has changed, at once: from these plans' exact schedule,
  /// without the frontier and what is looked up in it. Fails as replan() does, and with
  /// invalid_argument where the changed times need another tick.
  Result<StageSettings> replan_usual(const PipelineProfile& profile, const BlockingPower& power,
                                     const Request& request) const;

  const PipelineProfile& profile() const { return profile_; }
  const BlockingPower& power() const { return problem_->power(); }
  /// Over all instructions at the highest setting.
  Seconds mean_instruction() const { return mean_instruction_; }
  const StageSettings& highest() const { return highest_; }
  const StageSettings& usual() const { return usual_; }
  /// Which plan to run while another pipeline takes until then (StragglerPolicy::kLeastUntil); the
  /// usual one where that is slower. O(log plans + instructions).
  StageSettings until(Seconds time) const;
  /// What the law says of every change between two settings of the profile; how much faster one
  /// of them is, is told from all instructions that have both.
  SwitchCost switch_cost(const SwitchLaw& law) const;
  /// The measured option that the profile has for an instruction at a setting; null where it has
  /// none.
  const KnobOption* option(int stage, const PipelineStep& step, const Config& setting) const;

 private:
  RuntimePlans() = default;
  StageSettings settings_of(const PlannedIteration& plan, std::string name) const;

  PipelineProfile profile_;
  PipelineProfile with_margin_;
  std::unique_ptr<PipelineProblem> problem_;  ///< of the profile: what settings take
  std::unique_ptr<PipelineProblem> planned_;  ///< with the margin: what is planned
  /// Of the profile; none of a long pipeline, whose plans' own gap is shown.
  std::optional<TimeCostFrontier> frontier_;
  PipelineStudy study_;  ///< with the margin
  StageSettings highest_;
  StageSettings usual_;
  Ticks usual_time_ = 0;
  Seconds mean_instruction_;
};

}  // namespace perjoule
