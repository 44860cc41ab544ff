#include "pipeline/plan/iteration_detail.h"

namespace perjoule {
std::vector<ActivityDetail> activity_details(const PipelineProblem& problem,
                                             std::span<const std::uint32_t> option,
                                             const Iteration& iteration) {
  const PipelineSchedule& schedule = problem.schedule();
  std::vector<ActivityDetail> details(schedule.size());
  std::vector<Ticks> durations(schedule.size());
  const std::vector<std::uint32_t> force = settings_in_force(problem, option);
  for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
    for (std::size_t i = 0; i < schedule.stages[stage].size(); ++i) {
      const std::uint32_t a = schedule.number(stage, i);
      durations[a] = problem.duration(problem.profiled(problem.class_of()[a]).options[option[a]]);
      details[a].start = iteration.start[a];
      details[a].end = iteration.start[a] + durations[a];
      details[a].knob = force[a];
      details[a].switched = force[a] != force[activity_before(schedule, stage, i)];
    }
  }
  const std::vector<Ticks> latest = latest_ends(problem.network(), problem.order(), durations,
                                                iteration.makespan, switch_setups(problem, force));
  for (std::size_t a = 0; a < details.size(); ++a) details[a].slack = latest[a] - details[a].end;
  return details;
}

}  // namespace perjoule
