#include "pipeline/iteration.h"

#include <algorithm>

namespace perjoule {

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
  for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
    Ticks free = 0;
    const auto wait = [&](Ticks until, const Config& knob) {
      const Seconds time = problem.seconds(until - free);
      iteration.waited[stage] += time;
      iteration.waiting += problem.power().at(knob) * time;
    };
    for (std::size_t i = 0; i < schedule.stages[stage].size(); ++i) {
      const std::uint32_t a = schedule.number(stage, i);
      const std::uint32_t before = i > 0 ? a - 1 : a;
      wait(iteration.start[a], chosen(before).knob);
      iteration.working += chosen(a).energy;
      free = iteration.start[a] + durations[a];
      if (i > 0 && problem.knob_of(before, option[before]) != problem.knob_of(a, option[a])) {
        ++iteration.switches;
      }
    }
    if (!schedule.stages[stage].empty()) {
      const std::uint32_t last = schedule.number(stage, schedule.stages[stage].size() - 1);
      wait(iteration.makespan, chosen(last).knob);
    }
  }
  iteration.energy = iteration.working + iteration.waiting;
  return iteration;
}

}  // namespace perjoule
