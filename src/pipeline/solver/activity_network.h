// A project of activities with precedence: what must have ended before what may begin. The one
// graph that every pipeline schedule becomes.
//
//   ActivityNetwork network(activities, {{0, 1}, {0, 2}});   // 0 before 1 and before 2
//   PJ_TRY(const std::vector<std::uint32_t> order, network.topological_order());
//
// Times are integers (ticks), so that nothing below has to compare with a tolerance.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace perjoule {

using Ticks = std::int64_t;

struct Precedence {
  std::uint32_t before = 0;
  std::uint32_t after = 0;
};

class ActivityNetwork {
 public:
  /// Activities are 0 to count - 1; every precedence names two of them. O(count + precedences).
  ActivityNetwork(std::uint32_t count, std::span<const Precedence> precedences);

  std::uint32_t size() const { return static_cast<std::uint32_t>(first_after_.size() - 1); }
  std::span<const std::uint32_t> successors(std::uint32_t activity) const;
  std::span<const std::uint32_t> predecessors(std::uint32_t activity) const;
  std::size_t precedences() const { return after_.size(); }

  /// Every activity behind its predecessors (Kahn's algorithm; of those that are ready the lowest
  /// number first in, first out). Fails with invalid_argument when activities wait for one another
  /// in a circle; the message holds the number of one of them, for the caller to name.
  Result<std::vector<std::uint32_t>> topological_order() const;
  /// The activities of one circle, first to last; empty when there is none.
  std::vector<std::uint32_t> find_cycle() const;

 private:
  std::vector<std::uint32_t> first_after_;
  std::vector<std::uint32_t> after_;
  std::vector<std::uint32_t> first_before_;
  std::vector<std::uint32_t> before_;
};

/// When each activity begins if all begin as early as they can, and when the last one ends.
/// `order` is a topological order, `durations` one an activity. Where `setup` is given and above 0
/// for an activity, it begins so long behind the end of the one that is numbered before it; where
/// that is none of its predecessors, so long behind the beginning of all. O(activities +
/// precedences).
struct EarliestTimes {
  std::vector<Ticks> start;
  Ticks makespan = 0;
};
EarliestTimes earliest_times(const ActivityNetwork& network, std::span<const std::uint32_t> order,
                             std::span<const Ticks> durations, std::span<const Ticks> setup = {});

/// When each activity must have ended at the latest for the last one to end at `makespan`.
std::vector<Ticks> latest_ends(const ActivityNetwork& network, std::span<const std::uint32_t> order,
                               std::span<const Ticks> durations, Ticks makespan,
                               std::span<const Ticks> setup = {});

}  // namespace perjoule
