#include "pipeline/iteration_detail.h"

#include <algorithm>

namespace perjoule {
namespace {

const KnobOption& chosen(const PipelineProblem& problem, std::span<const std::uint32_t> option,
                         std::uint32_t activity) {
  return problem.profiled(problem.class_of()[activity]).options[option[activity]];
}

}  // namespace

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
      durations[a] = problem.duration(chosen(problem, option, a));
      details[a].start = iteration.start[a];
      details[a].end = iteration.start[a] + durations[a];
      details[a].knob = force[a];
      details[a].switched = i > 0 && details[a].knob != details[a - 1].knob;
    }
  }
  const std::vector<Ticks> latest =
      latest_ends(problem.network(), problem.order(), durations, iteration.makespan);
  for (std::size_t a = 0; a < details.size(); ++a) details[a].slack = latest[a] - details[a].end;
  return details;
}

std::vector<StageDetail> stage_details(const PipelineProblem& problem,
                                       std::span<const std::uint32_t> option,
                                       const Iteration& iteration) {
  const PipelineSchedule& schedule = problem.schedule();
  const std::vector<ActivityDetail> activities = activity_details(problem, option, iteration);
  std::vector<StageDetail> details(schedule.stages.size());
  for (std::size_t stage = 0; stage < details.size(); ++stage) {
    StageDetail& detail = details[stage];
    Ticks free = 0;
    const auto wait = [&](Ticks until, std::uint32_t at) {
      const Seconds time = problem.seconds(until - free);
      detail.waited += time;
      detail.waiting += problem.power().at(problem.knobs()[activities[at].knob]) * time;
    };
    const auto count = static_cast<std::uint32_t>(schedule.stages[stage].size());
    const std::uint32_t first = schedule.number(stage, 0);
    for (std::uint32_t a = first; a < first + count; ++a) {
      // A stage waits at the setting it was left at.
      wait(activities[a].start, a > first ? a - 1 : a);
      detail.busy += problem.seconds(activities[a].end - activities[a].start);
      detail.working += chosen(problem, option, a).energy;
      detail.switches += activities[a].switched ? 1U : 0U;
      free = activities[a].end;
    }
    if (count > 0) wait(iteration.makespan, first + count - 1);
  }
  return details;
}

}  // namespace perjoule
