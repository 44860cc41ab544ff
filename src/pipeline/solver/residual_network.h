// The network that the time-cost solver's flow runs through, and the room that is left on it.
//
// Node 2a is the start of activity a, 2a + 1 its end; then come the project's begin and end. An arc
// is an activity or a precedence; its flow lies between bounds that depend on its present length:
// between two corners of its curve it is the slope there, at a corner any of the two slopes that
// meet, and a precedence carries flow only at length 0. Arcs come activity by activity: its own,
// its precedences, and those from the begin and to the end.
//
// Where a solution is being repaired its makespan is given: one more arc leads from the end back to
// the begin, which are nodes like others then, and the source and the sink supply what is missing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "pipeline/solver/activity_network.h"
#include "pipeline/solver/cost_curve.h"

namespace perjoule {

/// One end of an arc as a node sees it: twice the arc's number, plus one where the arc arrives.
using Half = std::uint32_t;

class ResidualNetwork {
 public:
  static constexpr std::uint32_t kPrecedence = UINT32_MAX;
  static constexpr std::uint32_t kReturn = UINT32_MAX - 1;
  static constexpr std::uint32_t kSupply = UINT32_MAX - 2;
  static constexpr Ticks kNever = std::numeric_limits<Ticks>::max();

  struct Arc {
    std::uint32_t from;
    std::uint32_t to;
    std::uint32_t curve;       ///< or kPrecedence, kReturn, kSupply
    std::uint32_t listed = 0;  ///< free for the user
    std::int64_t flow = 0;
    std::int64_t lower = 0;
    std::int64_t upper = 0;
  };

  /// A neighbour, the arc to it, and whether there is room on it: packed, since a search reads
  /// little else.
  struct Neighbour {
    static constexpr std::uint32_t kArrives = 1, kLeaves = 2, kChild = 4, kShift = 3;
    std::uint32_t node;
    std::uint32_t packed;
    Half half() const { return packed >> kShift; }
    bool leaves() const { return (packed & kLeaves) != 0; }    ///< more can flow to the neighbour
    bool arrives() const { return (packed & kArrives) != 0; }  ///< more can flow from it
    bool child() const { return (packed & kChild) != 0; }  ///< it hangs below this node in a tree
  };

  /// With no flow; settle() every arc before any room is asked for. At most 2^28 arcs.
  ResidualNetwork(const ActivityNetwork& network, std::span<const std::uint32_t> curve_of,
                  const CurveSet& curves);

  /// With the makespan held, and `supply` by node: what flows in there from the source, or below
  /// zero out to the sink.
  ResidualNetwork(const ActivityNetwork& network, std::span<const std::uint32_t> curve_of,
                  const CurveSet& curves, Ticks makespan, std::span<const std::int64_t> supply);

  std::uint32_t nodes() const { return static_cast<std::uint32_t>(first_.size() - 1); }
  std::uint32_t arcs() const { return static_cast<std::uint32_t>(arcs_.size()); }
  std::uint32_t source() const { return nodes() - 2; }
  std::uint32_t sink() const { return nodes() - 1; }
  Arc& arc(std::uint32_t number) { return arcs_[number]; }
  const Arc& arc(std::uint32_t number) const { return arcs_[number]; }
  std::span<Neighbour> neighbours() { return neighbours_; }
  std::span<Neighbour> neighbours(std::uint32_t node) {
    return std::span(neighbours_).subspan(first_[node], first_[node + 1] - first_[node]);
  }
  /// The node's neighbour over a half that it owns.
  Neighbour& neighbour(Half half) { return neighbours_[place_[half]]; }

  std::uint32_t owner(Half half) const {
    return (half & 1) != 0 ? arcs_[half >> 1].to : arcs_[half >> 1].from;
  }
  std::uint32_t other(Half half) const { return owner(half ^ 1); }
  /// Whether more can flow from the half's owner to the other end.
  bool open(Half half) const {
    const Arc& arc = arcs_[half >> 1];
    return (half & 1) != 0 ? arc.flow > arc.lower : arc.flow < arc.upper;
  }

  /// Sets the bounds of an arc's flow from its length.
  void settle(std::uint32_t number, Ticks length);
  /// How much shorter, or longer, the arc gets until the next corner of its curve; kNever where
  /// there is none.
  Ticks until_shorter_corner(std::uint32_t number, Ticks length) const;
  Ticks until_longer_corner(std::uint32_t number, Ticks length) const;

  /// How much more can flow along a path of halves; CurveSet::kUnlimited where nothing on it bounds
  /// the flow, whatever it carries already.
  std::int64_t room(std::span<const Half> path) const;
  void add_flow(Half half, std::int64_t amount) {
    arcs_[half >> 1].flow += (half & 1) != 0 ? -amount : amount;
    refresh(half >> 1);
  }

 private:
  void add_activities(const ActivityNetwork& network, std::span<const std::uint32_t> curve_of);
  void index(std::uint32_t nodes);
  void refresh(std::uint32_t number);
  /// Of a precedence, or of the way back.
  Ticks shortest(const Arc& arc) const { return arc.curve == kReturn ? -makespan_ : 0; }

  const CurveSet& curves_;
  Ticks makespan_ = 0;
  std::vector<Arc> arcs_;
  std::vector<std::uint32_t> first_;
  std::vector<Neighbour> neighbours_;
  std::vector<std::uint32_t> place_;  ///< of each half in neighbours_
};

}  // namespace perjoule
