#include "pipeline/iteration.h"

#include <algorithm>

namespace perjoule {

namespace {

bool is_empty(const Config& knob) {
  for (const Setting setting : knob.settings()) {
    if (!setting.value.empty()) return false;
  }
  return true;
}

}  // namespace

std::vector<std::uint32_t> settings_in_force(const PipelineProblem& problem,
                                             std::span<const std::uint32_t> option) {
  std::vector<bool> empty;
  for (const Config& knob : problem.knobs()) empty.push_back(is_empty(knob));
  const PipelineSchedule& schedule = problem.schedule();
  std::vector<std::uint32_t> force(schedule.size());
  for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
    const std::uint32_t first = schedule.number(stage, 0);
    const auto end = first + static_cast<std::uint32_t>(schedule.stages[stage].size());
    std::uint32_t set = end;  // the first that has a setting
    for (std::uint32_t a = first; a < end; ++a) {
      force[a] = problem.knob_of(a, option[a]);
      if (!empty[force[a]]) {
        if (set == end) std::fill(force.begin() + first, force.begin() + a, force[a]);
        set = a;
      } else if (set != end) {
        force[a] = force[a - 1];
      }
    }
  }
  return force;
}

Iteration simulate_iteration(const PipelineProblem& problem,
                             std::span<const std::uint32_t> option) {
  const PipelineSchedule& schedule = problem.schedule();
  const auto chosen = [&](std::uint32_t a) -> const KnobOption& {
    return problem.profiled(problem.class_of()[a]).options[option[a]];
  };
  std::vector<Ticks> durations(schedule.size());
  for (std::uint32_t a = 0; a < durations.size(); ++a) {
    durations[a] = problem.duration(chosen(a));
  }
  Iteration iteration;
  EarliestTimes times = earliest_times(problem.network(), problem.order(), durations);
  iteration.makespan = times.makespan;
  iteration.start = std::move(times.start);
  iteration.waited.resize(schedule.stages.size());
  const std::vector<std::uint32_t> force = settings_in_force(problem, option);
  for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
    Ticks free = 0;
    const auto wait = [&](Ticks until, std::uint32_t at) {
      const Seconds time = problem.seconds(until - free);
      iteration.waited[stage] += time;
      iteration.waiting += problem.power().at(problem.knobs()[force[at]]) * time;
    };
    for (std::size_t i = 0; i < schedule.stages[stage].size(); ++i) {
      const std::uint32_t a = schedule.number(stage, i);
      const std::uint32_t before = i > 0 ? a - 1 : a;
      wait(iteration.start[a], before);
      iteration.working += chosen(a).energy;
      free = iteration.start[a] + durations[a];
      if (force[before] != force[a]) ++iteration.switches;
    }
    if (!schedule.stages[stage].empty()) {
      const std::uint32_t last = schedule.number(stage, schedule.stages[stage].size() - 1);
      wait(iteration.makespan, last);
    }
  }
  iteration.energy = iteration.working + iteration.waiting;
  return iteration;
}

}  // namespace perjoule
