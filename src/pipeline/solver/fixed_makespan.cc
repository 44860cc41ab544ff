#include "pipeline/solver/fixed_makespan.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "pipeline/solver/convex_circulation.h"

namespace perjoule {
namespace {

/// How much more than the steepest slopes of all that can run at once may flow anywhere.
constexpr double kSpareFlow = 4;

/// More than flows through any arc, as a rule: what all activities carry together that can run at
/// once, by the network's mean width.
std::int64_t likely_flow(const ActivityNetwork& network, std::span<const std::uint32_t> order,
                         const CurveSet& curves) {
  std::vector<std::uint32_t> depth(network.size(), 1);
  std::uint32_t deepest = 1;
  for (const std::uint32_t a : order) {
    for (const std::uint32_t before : network.predecessors(a))
      depth[a] = std::max(depth[a], depth[before] + 1);
    deepest = std::max(deepest, depth[a]);
  }
  std::int64_t steepest = 1;
  for (std::uint32_t c = 0; c < curves.size(); ++c) {
    const auto slopes = curves.slopes(c);
    if (slopes.size() > 1) steepest = std::max(steepest, slopes[1]);
  }
  const double width = 1 + static_cast<double>(network.size()) / deepest;
  return static_cast<std::int64_t>(
      std::min(0x1p62, kSpareFlow * width * static_cast<double>(steepest)));
}

/// More than any makespan's flow but the shortest's, where it has no bound: no cut carries more
/// than all activities at their steepest slopes.
std::int64_t certain_flow(const ActivityNetwork& network, std::span<const std::uint32_t> curve_of,
                          const CurveSet& curves) {
  std::int64_t sum = 1;
  for (std::uint32_t a = 0; a < network.size(); ++a) {
    const auto slopes = curves.slopes(curve_of[a]);
    if (slopes.size() > 1) sum += slopes[1];
  }
  return sum;
}

/// The times of all nodes with every activity at its slowest, squeezed evenly into the makespan.
std::vector<Ticks> squeezed_times(const EarliestTimes& slowest, std::span<const Ticks> durations,
                                  Ticks makespan) {
  const double share = slowest.makespan > makespan
                           ? static_cast<double>(makespan) / static_cast<double>(slowest.makespan)
                           : 1;
  const auto squeezed = [share](Ticks time) {
    return share < 1 ? static_cast<Ticks>(static_cast<double>(time) * share) : time;
  };
  std::vector<Ticks> times(2 * durations.size() + 2, 0);
  for (std::size_t a = 0; a < durations.size(); ++a) {
    times[2 * a] = squeezed(slowest.start[a]);
    times[2 * a + 1] = squeezed(slowest.start[a] + durations[a]);
  }
  times.back() = std::min(makespan, slowest.makespan);
  return times;
}

Schedule schedule_from(const ConvexCirculation& circulation, std::uint32_t activities,
                       const CurveSet& curves) {
  Schedule schedule;
  schedule.unit = curves.unit();
  schedule.makespan = circulation.time(2 * activities + 1);
  schedule.start.reserve(activities);
  schedule.end.reserve(activities);
  schedule.price.reserve(activities);
  for (std::uint32_t a = 0; a < activities; ++a) {
    schedule.start.push_back(circulation.time(2 * a));
    schedule.end.push_back(circulation.time(2 * a + 1));
    schedule.price.push_back(static_cast<double>(circulation.flow_of(a)) * curves.unit());
  }
  schedule.flow.reserve(circulation.arcs());
  for (std::uint32_t arc = 0; arc < circulation.arcs(); ++arc)
    schedule.flow.push_back(circulation.flow(arc));
  return schedule;
}

/// With the flow that is likely, which is quicker, and if that was too little with what is certain.
template <typename Solve>
Result<Schedule> solve_held(const ActivityNetwork& network, std::span<const std::uint32_t> order,
                            std::span<const std::uint32_t> curve_of, const CurveSet& curves,
                            Ticks makespan, Ticks longest, const Solve& solve) {
  std::optional<tl::unexpected<Error>> failure;
  for (const std::int64_t most_flow :
       {likely_flow(network, order, curves), certain_flow(network, curve_of, curves)}) {
    PJ_TRY(ConvexCirculation circulation,
           ConvexCirculation::make(network, curve_of, curves, {longest, most_flow}));
    circulation.hold_makespan(makespan);
    const Outcome solved = solve(circulation);
    if (!solved) {
      failure = tl::unexpected<Error>(solved.error());
      continue;
    }
    Schedule schedule = schedule_from(circulation, network.size(), curves);
    schedule.makespan = makespan;
    return schedule;
  }
  return *failure;
}

std::vector<Ticks> fastest_of(const ActivityNetwork& network,
                              std::span<const std::uint32_t> curve_of, const CurveSet& curves) {
  std::vector<Ticks> durations(network.size());
  for (std::uint32_t a = 0; a < network.size(); ++a)
    durations[a] = curves.durations(curve_of[a]).front();
  return durations;
}

std::vector<Ticks> slowest_of(const ActivityNetwork& network,
                              std::span<const std::uint32_t> curve_of, const CurveSet& curves) {
  std::vector<Ticks> durations(network.size());
  for (std::uint32_t a = 0; a < network.size(); ++a)
    durations[a] = curves.durations(curve_of[a]).back();
  return durations;
}

}  // namespace

Result<Schedule> schedule_of_makespan(const ActivityNetwork& network,
                                      std::span<const std::uint32_t> order,
                                      std::span<const std::uint32_t> curve_of,
                                      const CurveSet& curves, Ticks makespan) {
  const std::vector<Ticks> durations = slowest_of(network, curve_of, curves);
  const EarliestTimes slowest = earliest_times(network, order, durations);
  const Ticks least =
      earliest_times(network, order, fastest_of(network, curve_of, curves)).makespan;
  makespan = std::clamp(makespan, least, slowest.makespan);
  const std::vector<Ticks> times = squeezed_times(slowest, durations, makespan);
  return solve_held(network, order, curve_of, curves, makespan, slowest.makespan,
                    [&](ConvexCirculation& circulation) { return circulation.solve(times); });
}

Result<Schedule> schedule_of_makespan_from(const ActivityNetwork& network,
                                           std::span<const std::uint32_t> order,
                                           std::span<const std::uint32_t> curve_of,
                                           const CurveSet& curves, Ticks makespan,
                                           std::span<const Ticks> times,
                                           std::span<const std::int64_t> flow) {
  const Ticks longest = std::max(makespan, *std::max_element(times.begin(), times.end()));
  return solve_held(network, order, curve_of, curves, makespan, longest,
                    [&](ConvexCirculation& circulation) { return circulation.solve(times, flow); });
}

Result<Schedule> schedule_of_flow(const ActivityNetwork& network,
                                  std::span<const std::uint32_t> order,
                                  std::span<const std::uint32_t> curve_of, const CurveSet& curves,
                                  std::int64_t flow) {
  const std::vector<Ticks> durations = slowest_of(network, curve_of, curves);
  const EarliestTimes slowest = earliest_times(network, order, durations);
  flow = std::max<std::int64_t>(0, flow);
  if (flow >= certain_flow(network, curve_of, curves))  // a tick is worth more than any costs
    return schedule_of_makespan(network, order, curve_of, curves, 0);
  // Nothing flows in circles, so no arc carries more than all.
  PJ_TRY(ConvexCirculation circulation,
         ConvexCirculation::make(network, curve_of, curves, {slowest.makespan, flow}));
  PJ_CHECK(circulation.hold_flow(flow));
  PJ_CHECK(circulation.solve(squeezed_times(slowest, durations, slowest.makespan)));
  return schedule_from(circulation, network.size(), curves);
}

}  // namespace perjoule
