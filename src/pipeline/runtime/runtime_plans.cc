#include "pipeline/runtime/runtime_plans.h"

#include <algorithm>
#include <utility>

#include "pipeline/plan/baselines.h"

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

const KnobOption* option_at(const ProfiledInstruction& instruction, const Config& setting) {
  const auto found = std::find_if(instruction.options.begin(), instruction.options.end(),
                                  [&](const KnobOption& one) { return one.knob == setting; });
  return found == instruction.options.end() ? nullptr : &*found;
}

/// What a choice of measured options sets, and takes.
StageSettings settings_of(const PipelineProblem& problem, std::span<const std::uint32_t> option,
                          std::string name) {
  StageSettings settings;
  settings.name = std::move(name);
  settings.knobs = problem.knobs();
  const PipelineSchedule& schedule = problem.schedule();
  for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
    auto& knobs = settings.knob.emplace_back();
    for (std::size_t i = 0; i < schedule.stages[stage].size(); ++i) {
      const std::uint32_t activity = schedule.number(stage, i);
      knobs.push_back(problem.knob_of(activity, option[activity]));
    }
  }
  const Iteration iteration = simulate_iteration(problem, option);
  settings.time = problem.seconds(iteration.makespan);
  settings.energy = iteration.energy;
  settings.switches = iteration.switches;
  return settings;
}

Result<std::unique_ptr<PipelineProblem>> problem_of(const PipelineProfile& profile,
                                                    const PipelineSchedule& schedule,
                                                    const BlockingPower& power,
                                                    const SwitchCost& switching) {
  PJ_TRY(PipelineProblem made, PipelineProblem::make(profile, schedule, power, switching));
  return std::make_unique<PipelineProblem>(std::move(made));
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
  PJ_TRY(plans->problem_, problem_of(plans->profile_, schedule, power, request.switching));
  PJ_TRY(plans->planned_, problem_of(plans->with_margin_, schedule, power, request.switching));
  if (schedule.size() <= PlanRequest{}.most_for_whole_frontier) {
    PJ_TRY(plans->frontier_, plans->problem_->solve());
  }
  const std::vector<std::uint32_t> highest = highest_settings(*plans->problem_);
  const Iteration at_highest = simulate_iteration(*plans->problem_, highest);
  const Ticks time = at_highest.makespan;
  Seconds busy;
  for (const StageIteration& stage : at_highest.stages) busy += stage.busy;
  plans->mean_instruction_ = busy / static_cast<double>(schedule.size());
  const Seconds wanted = plans->problem_->seconds(time) * request.slowdown;
  PJ_TRY(plans->study_,
         study_pipeline(*plans->planned_, {.points = request.points, .times = {wanted}}));
  plans->highest_ = perjoule::settings_of(*plans->problem_, highest, "highest setting");
  plans->usual_time_ = plans->planned_->ticks(wanted);
  plans->usual_ = plans->settings_of(
      plans->study_.for_straggler(plans->usual_time_, StragglerPolicy::kLeastUntil), "plan");
  return plans;
}

Result<StageSettings> RuntimePlans::replan_usual(const PipelineProfile& profile,
                                                 const BlockingPower& power,
                                                 const Request& request) const {
  const PipelineSchedule& schedule = problem_->schedule();
  PJ_TRY(const PipelineProfile with_margin, lengthened(profile, request.margin));
  PJ_TRY(const auto problem, problem_of(profile, schedule, power, request.switching));
  PJ_TRY(const auto planned, problem_of(with_margin, schedule, power, request.switching));
  if (planned->seconds(1) != planned_->seconds(1)) {
    return Error::invalid_argument("times have changed so much that ticks are others", "plan anew");
  }
  const Iteration at_highest = simulate_iteration(*problem, highest_settings(*problem));
  const Seconds wanted = problem->seconds(at_highest.makespan) * request.slowdown;
  PJ_TRY(const Replanned found, replan(*planned, study_.schedule_near(usual_time_), wanted));
  StageSettings settings =
      perjoule::settings_of(*problem, measured_options(*planned, found.plan.plan), "plan");
  settings.gap = found.plan.gap();
  return settings;
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
  return found ? option_at(**found, setting) : nullptr;
}

SwitchCost RuntimePlans::switch_cost(const SwitchLaw& law) const {
  SwitchCost cost;
  const std::vector<Config>& knobs = problem_->knobs();
  for (const Config& from : knobs) {
    for (const Config& to : knobs) {
      if (from == to) continue;
      Seconds slow;
      Seconds fast;
      for (const ProfiledInstruction& one : profile_.instructions()) {
        const KnobOption* const before = option_at(one, from);
        const KnobOption* const after = option_at(one, to);
        if (before == nullptr || after == nullptr) continue;
        slow += before->time;
        fast += after->time;
      }
      if (slow.value() > 0) cost.pairs.push_back({from, to, law.time(1 - fast / slow)});
    }
  }
  return cost;
}

StageSettings RuntimePlans::settings_of(const PlannedIteration& plan, std::string name) const {
  // Options stand in both profiles in the same order.
  StageSettings settings =
      perjoule::settings_of(*problem_, measured_options(*planned_, plan.plan), std::move(name));
  settings.gap = plan.gap();
  if (frontier_) {
    const Ticks time = problem_->ticks(settings.time);
    const Joules bound = problem_->total_energy(frontier_->cost_at(time), time);
    settings.gap = (settings.energy - bound) / bound;
  }
  return settings;
}

}  // namespace perjoule
