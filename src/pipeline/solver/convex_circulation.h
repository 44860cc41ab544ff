// The cheapest circulation through a network of activities, whose potentials are the events' times:
// the dual of a least-cost schedule of one makespan, solved by itself, without the frontier above.
//
//   PJ_TRY(ConvexCirculation circulation,
//          ConvexCirculation::make(network, curve_of, curves, {longest, largest_flow}));
//   circulation.hold_makespan(2'900'000);            // or circulation.hold_flow(units)
//   PJ_CHECK(circulation.solve(times));              // from any times of the nodes
//   circulation.time(2 * a + 1);
//
// Nodes and arcs are those of residual_network.h. A flow f through an activity earns
// max over d of (-c(d) - f d): what one more unit earns falls from segment to segment of the curve,
// so an arc is a row of parallel arcs of which only two ends are in play, the segment that is being
// filled and the one that would be emptied.
//
// Method: cost scaling by pushes and relabels (Goldberg and Tarjan 1990) along partial augmenting
// paths (Goldberg 2008), with global updates of the potentials (Cherkassky and Goldberg 1997); the
// constants are those that Kiraly and Kovacs (2012) found best. In each round reduced costs may be
// below zero by epsilon, which falls by kFactor a round. As soon as whole ticks are found that
// prove the flow optimal it ends, mostly some rounds before epsilon alone would prove it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "pipeline/solver/activity_network.h"
#include "pipeline/solver/cost_curve.h"

namespace perjoule {

class ConvexCirculation {
 public:
  struct Counts {
    int rounds = 0;
    std::uint64_t relabels = 0;
    std::uint64_t updates = 0;  ///< of all potentials
  };

  /// What no time and no flow of an arc exceeds; an optimum that needs more flow is not found.
  struct Most {
    Ticks time = 0;
    std::int64_t flow = 0;
  };
  /// The arguments are kept by reference; a flow that 64 bits do not hold at every node is held to
  /// one that they do. Fails with out_of_range where times leave no bits for the scaling.
  static Result<ConvexCirculation> make(const ActivityNetwork& network,
                                        std::span<const std::uint32_t> curve_of,
                                        const CurveSet& curves, const Most& most);

  /// The end is no later than this behind the begin. Before solve(), this or the next.
  void hold_makespan(Ticks makespan);
  /// As much flows from the begin to the end: the schedule whose makespan is where a tick less
  /// costs that. out_of_range for more than an arc can carry.
  Outcome hold_flow(std::int64_t flow);
  /// Finds the optimum, beginning with these times of all nodes; the nearer, the sooner. Fails with
  /// out_of_range where they are so wrong that 64 bits do not hold how much, and with internal
  /// where no proof is found.
  Outcome solve(std::span<const Ticks> times);
  /// The same from a flow by arc as well, the way back's last, that lies between the bounds of the
  /// times' lengths but need not balance.
  Outcome solve(std::span<const Ticks> times, std::span<const std::int64_t> flow);

  Ticks time(std::uint32_t node) const { return time_[node]; }
  /// Of an arc, numbered as in residual_network.h.
  std::int64_t flow(std::uint32_t arc) const;
  std::int64_t flow_of(std::uint32_t activity) const { return flow_[activity]; }
  /// But for the way back.
  std::uint32_t arcs() const { return static_cast<std::uint32_t>(forward_.size() - 1); }
  const Counts& counts() const { return counts_; }

 private:
  static constexpr std::uint32_t kNoActivity = UINT32_MAX;

  /// What can still flow along an arc, or back, and what a unit of it costs.
  struct Half {
    std::int64_t room = 0;
    std::int64_t cost = 0;  ///< scaled
    std::uint32_t to = 0;
    std::uint32_t reverse = 0;
    std::uint32_t activity = kNoActivity;
    bool ahead = true;  ///< along the arc
  };
  struct Arc {
    std::uint32_t from;
    std::uint32_t to;
    std::uint32_t activity;
  };

  ConvexCirculation(const ActivityNetwork& network, std::span<const std::uint32_t> curve_of,
                    const CurveSet& curves)
      : curves_(&curves), curve_of_(curve_of), scale_(2 * std::int64_t{network.size()} + 3) {}
  void add_arcs(const ActivityNetwork& network);
  void index(std::span<const Arc> arcs);
  void open_arcs();
  std::uint32_t most_arcs_of_a_node() const;
  std::uint32_t nodes() const { return static_cast<std::uint32_t>(first_.size() - 1); }
  std::uint32_t owner(std::uint32_t half) const { return halves_[halves_[half].reverse].to; }
  std::int64_t reduced_cost(std::uint32_t half, std::uint32_t owner) const {
    const Half& one = halves_[half];
    return one.cost + potential_[one.to] - potential_[owner];
  }
  /// Whether the arc that the half is of has no bound of its own there.
  bool unbounded(const Half& half) const;
  void refresh(std::uint32_t activity);
  void push(std::uint32_t half, std::uint32_t owner, std::int64_t amount);
  std::int64_t longest_activity() const;
  std::int64_t worst_violation() const;
  Outcome scale_down(std::int64_t epsilon);
  void refine();
  void saturate();
  void find_path(std::uint32_t from);
  void relabel(std::uint32_t node, std::optional<std::uint32_t> back);
  void update_potentials();
  /// Finds whole ticks that prove the flow optimal, with so many looks at an arc at most.
  bool prove(std::uint64_t most_looks);

  const CurveSet* curves_;
  std::span<const std::uint32_t> curve_of_;
  std::int64_t scale_;
  std::int64_t largest_flow_ = 0;
  std::int64_t epsilon_ = 0;
  bool makespan_held_ = false;
  std::vector<std::uint32_t> first_;    ///< by node, into halves_
  std::vector<Half> halves_;            ///< by owner
  std::vector<std::uint32_t> forward_;  ///< by arc, into halves_
  std::vector<std::uint32_t> own_;      ///< by activity: its arc ahead, into halves_
  std::vector<std::int64_t> flow_;      ///< by activity
  std::vector<std::uint32_t> segment_;  ///< by activity: the one that is being filled
  std::vector<std::int64_t> potential_;
  std::vector<std::int64_t> excess_;
  std::vector<std::uint32_t> next_;  ///< by node: the half to look at next
  std::vector<std::uint32_t> path_;
  std::vector<bool> on_path_;  ///< by half
  std::vector<std::uint32_t> rank_;
  std::vector<std::uint32_t> behind_;  ///< by node: lists of the nodes of one rank
  std::vector<std::uint32_t> before_;
  std::vector<std::uint32_t> bucket_;
  std::vector<Ticks> time_;
  Counts counts_;
};

}  // namespace perjoule
