// The exact time-cost frontier of a project: the least cost of every makespan, and the schedule
// that has it.
//
//   PJ_TRY(const TimeCostFrontier frontier,
//          solve_time_cost(network, curve_of, curves, {.makespans = {2'900'000}}));
//   frontier.cost_at(frontier.shortest());
//   frontier.schedules().front().start[7];
//
// Problem: event times x minimise the sum of c_a(x_end(a) - x_start(a)) with every activity behind
// its predecessors and the last event no later than T; c_a convex (CurveSet). Its dual is a flow of
// convex cost, and the least cost as a function of T is convex and piecewise linear with slope -F,
// F being the flow's value (Kelley 1961; Fulkerson 1961; Phillips and Dessouky 1977).
//
// Method: parametric and primal-dual. From the longest makespan that still saves anything, with no
// flow, the makespan shrinks. S is what the source reaches over arcs that can take more flow. While
// the sink is outside S every event outside S moves earlier together, until an arc that crosses
// reaches a corner of its curve or becomes tight, and S grows over it. When the sink is in S, the
// path to it is filled; it ends when a path can be filled without bound: nothing on it can be made
// shorter. One flow serves the whole frontier, for what was feasible stays so.
//
// Four things make it quick. All crossing arcs come to their corners at one speed, so a heap keyed
// by makespan gives the next. The trees of what the source reaches and what reaches the sink
// survive filling a path: only what hung below a filled arc looks for another parent (after Boykov
// and Kolmogorov 2004). And where many paths of one makespan are to be filled, as identical
// microbatches give, they are filled together (Dinic 1970). And since one schedule by itself is
// soon found (fixed_makespan.h), the frontier is solved in parts, from several makespans down at
// once.
//
// Everything is in integers; there is no tolerance anywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "pipeline/solver/activity_network.h"
#include "pipeline/solver/cost_curve.h"

namespace perjoule {

/// From this makespan down to the next corner's, each tick less costs `flow` units more.
struct FrontierCorner {
  Ticks makespan = 0;
  double cost = 0;  ///< J
  std::int64_t flow = 0;
};

/// What the solver did, for benchmarks.
struct SolverCounts {
  std::uint64_t augmentations = 0;
  std::uint64_t events = 0;    ///< crossing arcs that came to a corner
  std::uint64_t detached = 0;  ///< nodes that looked for another parent
  std::uint32_t parts = 0;     ///< that the frontier was solved in
};

/// When each activity starts and ends, and what a tick less of it is worth.
struct Schedule {
  Ticks makespan = 0;
  std::vector<Ticks> start;
  std::vector<Ticks> end;
  std::vector<double> price = {};  ///< J a tick: the flow through the activity
  /// The flow that proves it optimal, by arc of residual_network.h, in units of `unit` J a tick.
  std::vector<std::int64_t> flow = {};
  double unit = 1;
};

/// Which schedules to keep: they are read off on the way down.
struct ScheduleTimes {
  std::vector<Ticks> makespans = {};  ///< above the longest that saves anything: that one
  std::optional<std::int64_t> flow =
      {};  ///< the makespan below which a tick less costs this or more
};

class TimeCostFrontier {
 public:
  Ticks longest() const { return longest_; }
  Ticks shortest() const { return shortest_; }
  /// Longest makespan first; the last has the flow that nothing can shorten. Where not the whole is
  /// solved, the makespans that are.
  std::span<const FrontierCorner> corners() const { return corners_; }
  /// Whether every makespan is solved, and not only those asked for.
  bool whole() const { return whole_; }
  /// Least cost of any schedule that ends by `makespan`, J; above longest() it is longest()'s,
  /// below shortest() there is none and shortest()'s is given. Between makespans that are solved by
  /// themselves, what it cannot be below: the tangents there. O(log corners).
  double cost_at(Ticks makespan) const;
  /// Those asked for, longest first; each has the cost of its makespan. What was asked for below
  /// shortest() is there as shortest()'s.
  std::span<const Schedule> schedules() const { return schedules_; }
  const SolverCounts& counts() const { return counts_; }

 private:
  friend class TimeCostJoiner;
  Ticks longest_ = 0;
  Ticks shortest_ = 0;
  double unit_ = 1;  ///< J of a unit of flow and tick
  bool whole_ = true;
  std::vector<FrontierCorner> corners_;
  std::vector<Schedule> schedules_;
  SolverCounts counts_;
};

/// The whole frontier. `curve_of` names the curve of each activity. Fails with invalid_argument
/// when activities wait for one another in a circle. O(corners x activities) at worst; in practice
/// a corner costs a part of the activities.
Result<TimeCostFrontier> solve_time_cost(const ActivityNetwork& network,
                                         std::span<const std::uint32_t> curve_of,
                                         const CurveSet& curves, const ScheduleTimes& wanted = {});

/// Hears of schedules that are solved; one call at a time, from any thread.
using SolveProgress = std::function<void(std::size_t solved, std::size_t of)>;

/// Only the schedules that are wanted, each solved by itself (fixed_makespan.h): for networks whose
/// whole frontier takes too long. Fails as solve_time_cost() and schedule_of_makespan() do.
Result<TimeCostFrontier> solve_wanted(const ActivityNetwork& network,
                                      std::span<const std::uint32_t> curve_of,
                                      const CurveSet& curves, const ScheduleTimes& wanted,
                                      const SolveProgress& progress = {});

}  // namespace perjoule
