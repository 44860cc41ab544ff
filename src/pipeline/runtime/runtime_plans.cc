#include "pipeline/runtime/runtime_plans.h"

#include <algorithm>
#include <utility>

#include "pipeline/baselines.h"

namespace perjoule {

namespace {

/// All options but the fastest of each instruction take so much longer, at the same power.
Result<PipelineProfile> lengthened(const PipelineProfile& profile, double margin) {
  std::vector<ProfiledInstruction> instructions = profile.instructions();
  for (ProfiledInstruction& one : instructions) {
    Seconds fastest = one.options.front().time;
    for (const KnobOption& option : one.options) fastest = std::min(fastest, option.time);
    for (KnobOption& option : one.options) {
      if (option.time > fastest) option.time *= 1 + margin;
    }
  }
  return PipelineProfile::make(std::move(instructions), profile.name());
}

}  // namespace

StageSettings StageSettings::all_at(const PipelineSchedule& schedule, const Config& setting,
                                    std::string name) {
  StageSettings all;
  all.name = std::move(name);
  all.knobs = {setting};
  for (const auto& steps : schedule.stages) all.knob.emplace_back(steps.size(), 0);
  return all;
}

Result<std::shared_ptr<const RuntimePlans>> RuntimePlans::make(const PipelineProfile& profile,
                                                               const BlockingPower& power,
                                                               const PipelineSchedule& schedule,
                                                               const Request& request) {
  std::shared_ptr<RuntimePlans> plans(new RuntimePlans());
  plans->profile_ = profile;
  PJ_TRY(plans->with_margin_, lengthened(profile, request.margin));
  const auto problem_of =
      [&](const PipelineProfile& its) -> Result<std::unique_ptr<PipelineProblem>> {
    PJ_TRY(PipelineProblem made, PipelineProblem::make(its, schedule, power, request.switching));
    return std::make_unique<PipelineProblem>(std::move(made));
  };
  PJ_TRY(plans->problem_, problem_of(plans->profile_));
  PJ_TRY(plans->planned_, problem_of(plans->with_margin_));
  PJ_TRY(plans->frontier_, plans->problem_->solve());
  const std::vector<std::uint32_t> highest = highest_settings(*plans->problem_);
  const Iteration at_highest = simulate_iteration(*plans->problem_, highest);
  const Ticks time = at_highest.makespan;
  Seconds busy;
  for (const StageIteration& stage : at_highest.stages) busy += stage.busy;
  plans->mean_instruction_ = busy / static_cast<double>(schedule.size());
  const Seconds wanted = plans->problem_->seconds(time) * request.slowdown;
  PJ_TRY(plans->study_,
         study_pipeline(*plans->planned_, {.points = request.points, .times = {wanted}}));
  plans->highest_ = plans->settings_of(highest, "highest setting");
  plans->usual_time_ = plans->planned_->ticks(wanted);
  plans->usual_ = plans->settings_of(
      plans->study_.for_straggler(plans->usual_time_, StragglerPolicy::kLeastUntil), "plan");
  return plans;
}

StageSettings RuntimePlans::until(Seconds time) const {
  const Ticks ticks = std::max(usual_time_, planned_->ticks(time));
  return settings_of(study_.for_straggler(ticks, StragglerPolicy::kLeastUntil),
                     "plan for a straggler");
}

const KnobOption* RuntimePlans::option(int stage, const PipelineStep& step,
                                       const Config& setting) const {
  const auto found =
      profile_.find(stage, step.chunk, problem_->schedule().instructions[step.instruction]);
  if (!found) return nullptr;
  for (const KnobOption& one : (*found)->options) {
    if (one.knob == setting) return &one;
  }
  return nullptr;
}

StageSettings RuntimePlans::settings_of(const PlannedIteration& plan, std::string name) const {
  // Options stand in both profiles in the same order.
  StageSettings settings = settings_of(measured_options(*planned_, plan.plan), std::move(name));
  const Ticks time = problem_->ticks(settings.time);
  const Joules bound = problem_->total_energy(frontier_.cost_at(time), time);
  settings.gap = (settings.energy - bound) / bound;
  return settings;
}

StageSettings RuntimePlans::settings_of(std::span<const std::uint32_t> option,
                                        std::string name) const {
  StageSettings settings;
  settings.name = std::move(name);
  settings.knobs = problem_->knobs();
  const PipelineSchedule& schedule = problem_->schedule();
  for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
    auto& knobs = settings.knob.emplace_back();
    for (std::size_t i = 0; i < schedule.stages[stage].size(); ++i) {
      const std::uint32_t activity = schedule.number(stage, i);
      knobs.push_back(problem_->knob_of(activity, option[activity]));
    }
  }
  const Iteration iteration = simulate_iteration(*problem_, option);
  settings.time = problem_->seconds(iteration.makespan);
  settings.energy = iteration.energy;
  settings.switches = iteration.switches;
  return settings;
}

}  // namespace perjoule
