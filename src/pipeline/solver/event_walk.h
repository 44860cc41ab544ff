// How the time-cost solvers move: what the source's tree reaches rests, everything else moves
// earlier together, from one corner of an arc that crosses to the next, until the two trees meet.
//
//   EventWalk walk(net);                      // of search_trees.h the trees, and the times of
//   nodes walk.start(times); for (;;) {
//     ... fill walk.trees() while they meet ...
//     walk.list_crossings();
//     if (!walk.advance([&](Ticks shift) { return shift < enough; })) break;
//     walk.settle_all();
//   }
//
// All crossing arcs come to their corners at one speed, so a heap keyed by how far has been moved
// gives the next.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "pipeline/solver/residual_network.h"
#include "pipeline/solver/search_trees.h"

namespace perjoule {

class EventWalk {
 public:
  explicit EventWalk(ResidualNetwork& net) : net_(net), trees_(net) {}

  /// The times of all nodes; every arc is settled.
  void start(std::vector<Ticks> times);
  SearchTrees& trees() { return trees_; }
  const SearchTrees& trees() const { return trees_; }
  /// How far what is not reached has been moved.
  Ticks shift() const { return shift_; }
  /// The time of a node when so much has been moved, not less than at the last event.
  Ticks time_at(std::uint32_t node, Ticks shift) const {
    return trees_.of_source(node) ? time_[node] : time_[node] - (shift - settled_);
  }
  Ticks time(std::uint32_t node) const { return time_at(node, shift_); }

  /// Lists the arcs that cross now: of those that crossed and those of nodes that moved.
  void list_crossings();
  /// Moves from corner to corner until the trees meet. `before_move` hears of each move, with the
  /// shift it leads to; where it says no, that is the last. False then, and where nothing bounds
  /// the move.
  bool advance(const std::function<bool(Ticks)>& before_move);
  /// Makes times absolute and brings the arcs that crossed up to date; those that have room now are
  /// meetings.
  void settle_all();
  std::uint64_t events() const { return count_; }

 private:
  /// An arc between the source's tree and the rest, and the shift at which it comes to a corner.
  struct Crossing {
    Ticks event;
    std::uint32_t arc;
  };
  static bool later(const Crossing& a, const Crossing& b) { return a.event > b.event; }
  void settle(std::uint32_t number) {
    const ResidualNetwork::Arc& arc = net_.arc(number);
    net_.settle(number, time(arc.to) - time(arc.from));
  }
  bool crosses(const ResidualNetwork::Arc& arc) const {
    return trees_.of_source(arc.from) != trees_.of_source(arc.to);
  }
  void list_crossing(std::uint32_t number);

  ResidualNetwork& net_;
  SearchTrees trees_;
  std::vector<Ticks> time_;  ///< of each node, as of settled_
  Ticks shift_ = 0;
  Ticks settled_ = 0;
  std::vector<std::uint32_t> crossings_;
  std::vector<std::uint32_t> crossed_;
  std::vector<Crossing> events_;  ///< a heap, the next in front
  std::uint32_t listing_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace perjoule
