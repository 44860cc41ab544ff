// An exact schedule for curves that have changed a little, from the one before: what a stage whose
// profile was measured anew asks for while the others stay.
//
//   PJ_TRY(const Schedule after, repair_schedule(network, order, curve_of, changed, before,
//   makespan));
//
// A schedule is optimal when a flow proves it (Schedule::flow): one that goes in and out of every
// event alike and lies, on every arc, between the bounds of the arc's present length. After a
// change
//   1. the events are moved as little as the new shortest durations and the makespan ask for;
//   2. the flow of every arc is held to its new bounds, after which more may come into an event
//   than
//      goes out, or less;
//   3. what is too much is led to where there is too little, along shortest paths: as in
//      time_cost_frontier.h events move together until a path has room.
// The third step is the primal-dual method for a flow of convex cost, begun from a solution that
// lacks only balance, so it ends in an optimum whatever the change was; how long it takes depends
// on how much it upset. O(arcs) and O(activities) for each event or path of step 3. Where that
// comes to more than solving the makespan anew (fixed_makespan.h), that is done.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "pipeline/solver/time_cost_frontier.h"

namespace perjoule {

/// What the repair did, for benchmarks.
struct RepairCounts {
  std::uint64_t unbalanced = 0;  ///< events, after step 2
  std::uint64_t augmentations = 0;
  std::uint64_t events = 0;
  bool anew = false;  ///< the change upset so much that the makespan was solved anew
};

/// The least cost's schedule of `makespan`, or of the shortest one where that is shorter. `before`
/// is a schedule of the same network with its flow, under any curves in the same ticks; `order` a
/// topological order. Fails with invalid_argument where `before` is of another network.
Result<Schedule> repair_schedule(const ActivityNetwork& network,
                                 std::span<const std::uint32_t> order,
                                 std::span<const std::uint32_t> curve_of, const CurveSet& curves,
                                 const Schedule& before, Ticks makespan,
                                 RepairCounts* counts = nullptr);

/// Whether the schedule's flow proves that no schedule of its makespan costs less: exact, O(arcs).
bool is_proven_optimal(const ActivityNetwork& network, std::span<const std::uint32_t> curve_of,
                       const CurveSet& curves, const Schedule& schedule);

}  // namespace perjoule
