// The exact least-cost schedule of one makespan, by itself: what a long pipeline asks for, whose
// whole frontier would take hours, and where several processors begin on parts of a frontier.
//
//   PJ_TRY(const Schedule schedule,
//          schedule_of_makespan(network, order, curve_of, curves, 2'900'000));
//
// On a 16-stage pipeline of 128 microbatches one takes a sixteenth of the frontier's time, and a
// larger one an ever smaller part: the frontier's time grows with the number of its corners as
// well.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "pipeline/solver/time_cost_frontier.h"

namespace perjoule {

/// The schedule, with the flow that proves it, of the makespan held to what the network can and
/// what saves anything. `order` is a topological order. Fails with out_of_range where times are so
/// long that they leave no bits for the scaling, and with internal where no proof is found; what
/// solve_time_cost() takes it takes, but for those.
Result<Schedule> schedule_of_makespan(const ActivityNetwork& network,
                                      std::span<const std::uint32_t> order,
                                      std::span<const std::uint32_t> curve_of,
                                      const CurveSet& curves, Ticks makespan);

/// The same from times of all nodes and a flow by arc, the way back's last, that lies between the
/// bounds of the times' lengths but need not balance: a solution before a change.
Result<Schedule> schedule_of_makespan_from(const ActivityNetwork& network,
                                           std::span<const std::uint32_t> order,
                                           std::span<const std::uint32_t> curve_of,
                                           const CurveSet& curves, Ticks makespan,
                                           std::span<const Ticks> times,
                                           std::span<const std::int64_t> flow);

/// The schedule at whose makespan a tick less costs `flow` units, and a tick more saves no more: of
/// least cost where a tick costs that. Fails as the other.
Result<Schedule> schedule_of_flow(const ActivityNetwork& network,
                                  std::span<const std::uint32_t> order,
                                  std::span<const std::uint32_t> curve_of, const CurveSet& curves,
                                  std::int64_t flow);

}  // namespace perjoule
