#include "pipeline/plan/iteration.h"

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

std::uint32_t activity_before(const PipelineSchedule& schedule, std::size_t stage, std::size_t i) {
  return schedule.number(stage, (i > 0 ? i : schedule.stages[stage].size()) - 1);
}

std::vector<Ticks> switch_setups(const PipelineProblem& problem,
                                 std::span<const std::uint32_t> force) {
  if (!problem.switches_take_time()) return {};
  std::vector<Ticks> setups(force.size());
  const PipelineSchedule& schedule = problem.schedule();
  for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
    for (std::size_t i = 0; i < schedule.stages[stage].size(); ++i) {
      const std::uint32_t a = schedule.number(stage, i);
      setups[a] = problem.switch_ticks(force[activity_before(schedule, stage, i)], force[a]);
    }
  }
  return setups;
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
  const std::vector<std::uint32_t> force = settings_in_force(problem, option);
  EarliestTimes times =
      earliest_times(problem.network(), problem.order(), durations, switch_setups(problem, force));
  iteration.makespan = times.makespan;
  iteration.start = std::move(times.start);
  const auto power_at = [&](std::uint32_t a) {
    return problem.power().at(problem.knobs()[force[a]]);
  };
  const Watts least = problem.power().least();
  for (std::size_t s = 0; s < schedule.stages.size(); ++s) {
    StageIteration& stage = iteration.stages.emplace_back();
    Ticks free = 0;
    const auto wait = [&](Ticks until, std::uint32_t at) {
      const Seconds time = problem.seconds(until - free);
      stage.waited += time;
      stage.waiting += power_at(at) * time;
      iteration.above_least += (power_at(at) - least) * time;
    };
    const auto count = static_cast<std::uint32_t>(schedule.stages[s].size());
    const std::uint32_t first = schedule.number(s, 0);
    for (std::uint32_t a = first; a < first + count; ++a) {
      const std::uint32_t before = a > first ? a - 1 : a;
      wait(iteration.start[a], before);
      free = iteration.start[a] + durations[a];
      stage.busy += problem.seconds(durations[a]);
      stage.working += chosen(a).energy;
      if (force[activity_before(schedule, s, a - first)] != force[a]) ++stage.switches;
    }
    if (count > 0) {
      wait(iteration.makespan, first + count - 1);
      iteration.left_above_least += power_at(first + count - 1) - least;
    }
    stage.working += problem.switching().energy * static_cast<double>(stage.switches);
    iteration.working += stage.working;
    iteration.waiting += stage.waiting;
    iteration.switches += stage.switches;
  }
  iteration.energy = iteration.working + iteration.waiting;
  return iteration;
}

}  // namespace perjoule
