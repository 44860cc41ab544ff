#include <algorithm>
#include <map>

#include "pipeline/assignment.h"
#include "pipeline/plan.h"

namespace perjoule {

Result<PipelinePlan> dive(const PipelineProblem& problem, const Schedule& schedule, double bound) {
  constexpr std::uint32_t kFree = UINT32_MAX;
  const PipelinePlan rounded = round_schedule(problem, schedule, bound);
  // Activities of one class and one limit have one curve.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> alike;
  for (std::uint32_t a = 0; a < problem.class_of().size(); ++a) {
    const std::uint32_t its_class = problem.class_of()[a];
    const std::vector<PipelineOption>& options = problem.options(its_class);
    const Ticks exact = schedule.end[a] - schedule.start[a];
    const std::uint32_t below = most_frugal(options, exact);
    const bool between = below + 1 < options.size() && options[below].duration < exact;
    alike[{its_class, between ? below : kFree}].push_back(a);
  }
  CurveSet curves;
  std::vector<std::uint32_t> curve_of(problem.class_of().size());
  for (const auto& [key, members] : alike) {
    const std::vector<PipelineOption>& options = problem.options(key.first);
    std::vector<CostPoint> points;
    for (std::uint32_t i = 0; i < options.size() && i <= key.second; ++i) {
      points.push_back({options[i].duration, options[i].effective});
    }
    const std::uint32_t curve = curves.add(falling_hull(std::move(points)), members.size());
    for (const std::uint32_t a : members) curve_of[a] = curve;
  }
  PJ_CHECK(curves.seal());
  PJ_TRY(const TimeCostFrontier frontier,
         solve_time_cost(problem.network(), curve_of, curves,
                         {.makespans = {schedule.makespan}, .flow = {}, .only = true}));
  Schedule held = frontier.schedules().front();
  held.makespan = schedule.makespan;
  PipelinePlan plan = round_schedule(problem, held, bound);
  return plan.effective < rounded.effective ? plan : rounded;
}

}  // namespace perjoule
