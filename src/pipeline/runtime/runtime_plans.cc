#include "pipeline/runtime/runtime_plans.h"

#include <algorithm>
#include <utility>

#include "pipeline/baselines.h"

namespace perjoule {

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
  PJ_TRY(PipelineProblem problem, PipelineProblem::make(plans->profile_, schedule, power));
  plans->problem_ = std::make_unique<PipelineProblem>(std::move(problem));
  const std::vector<std::uint32_t> highest = highest_settings(*plans->problem_);
  const Ticks time = simulate_iteration(*plans->problem_, highest).makespan;
  const Seconds wanted = plans->problem_->seconds(time) * request.slowdown;
  PJ_TRY(plans->study_,
         study_pipeline(*plans->problem_, {.points = request.points, .times = {wanted}}));
  plans->highest_ = plans->settings_of(highest, "highest setting");
  plans->usual_time_ = plans->problem_->ticks(wanted);
  plans->usual_ = plans->settings_of(
      plans->study_.for_straggler(plans->usual_time_, StragglerPolicy::kLeastUntil), "plan");
  return plans;
}

StageSettings RuntimePlans::until(Seconds time) const {
  const Ticks ticks = std::max(usual_time_, problem_->ticks(time));
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
  StageSettings settings = settings_of(measured_options(*problem_, plan.plan), std::move(name));
  settings.gap = plan.gap();
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
  return settings;
}

}  // namespace perjoule
