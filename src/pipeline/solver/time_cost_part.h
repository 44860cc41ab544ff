// A part of the time-cost frontier: from a schedule down to a makespan, or to the shortest.
//
// Two trees are kept (search_trees.h). While they do not meet, everything but the source's tree
// moves (event_walk.h). time_cost_frontier.h has the method.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "pipeline/solver/event_walk.h"
#include "pipeline/solver/time_cost_frontier.h"

namespace perjoule {

class TimeCostPart {
 public:
  /// Of `wanted` the makespans and the flow that lie in this part.
  TimeCostPart(const ActivityNetwork& network, std::span<const std::uint32_t> curve_of,
               const CurveSet& curves, const ScheduleTimes& wanted);

  /// Begins where all activities are at their slowest and nothing flows.
  void begin(std::span<const Ticks> start, std::span<const Ticks> durations, Ticks makespan);
  /// Begins at a schedule of the network, with its flow.
  void begin(const Schedule& schedule);
  /// Down to that makespan, or, without one, to the shortest.
  void run(std::optional<Ticks> until = {});

  /// The last one has the flow above it, and is a corner only where the frontier ends. Costs are
  /// those above the beginning's, J.
  std::span<const FrontierCorner> corners() const { return corners_; }
  std::vector<Schedule>& schedules() { return schedules_; }
  /// Of the wanted flow, where this part comes to it.
  std::optional<Schedule>& schedule_of_flow() { return schedule_of_flow_; }
  SolverCounts counts() const;

 private:
  __extension__ using Wide = __int128;  // a flow times a shift

  bool before_move(Ticks shift);
  void corner();
  void end(std::optional<Ticks> until);
  Schedule schedule_at(Ticks shift) const;

  ResidualNetwork net_;
  EventWalk walk_;
  const CurveSet& curves_;
  ScheduleTimes wanted_;
  std::size_t kept_ = 0;  ///< of wanted_.makespans
  Ticks longest_ = 0;
  Ticks most_shift_ = ResidualNetwork::kNever;
  Wide cost_ = 0;  ///< units above the beginning's
  std::vector<FrontierCorner> corners_;
  std::vector<Schedule> schedules_;
  std::optional<Schedule> schedule_of_flow_;
};

}  // namespace perjoule
