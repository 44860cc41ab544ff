// What the source of a flow network reaches over arcs with room, and what reaches the sink: two
// trees that are kept while flow grows.
//
//   SearchTrees trees(net);
//   trees.grow_anew();
//   while (trees.take_meeting()) {           // the trees meet: a path from source to sink has room
//     if (!trees.fill()) return;             // without bound
//     trees.mend();
//   }
//
// Filling a path closes some arcs of it. Only what hung below those looks for a new place, in
// either tree (after Boykov and Kolmogorov 2004).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pipeline/solver/residual_network.h"

namespace perjoule {

/// kDetached: of neither at present, being looked after.
enum class Tree : std::uint8_t { kNeither, kSource, kSink, kDetached };

class SearchTrees {
 public:
  explicit SearchTrees(ResidualNetwork& net);

  bool of_source(std::uint32_t node) const { return tree_[node] == Tree::kSource; }
  bool of_sink(std::uint32_t node) const { return tree_[node] == Tree::kSink; }

  /// Both trees from their roots. O(arcs).
  void grow_anew();
  /// An arc that was opened, or crosses: the trees may meet over it.
  void note_meeting(Half half) { meetings_.push_back(half); }
  bool may_meet() const { return !meetings_.empty(); }
  /// Finds an arc with room from the source's tree to the sink's.
  bool take_meeting();
  /// Increases the flow along the path over that arc. False where the path has no bound.
  bool fill();
  /// Finds what hung below the arcs that this closed a new place. O(what hung there).
  void mend();
  /// Fills shortest paths until none is left (Dinic 1970) and grows both trees anew: many paths of
  /// one makespan, as identical microbatches give, cost less this way. False where one has no
  /// bound.
  bool fill_all();
  /// Takes a node of neither tree, over a half that leaves the source's tree, and what it reaches;
  /// answers those that joined.
  std::span<const std::uint32_t> reach(Half over);

  std::int64_t flow() const { return flow_; }
  /// What the network's arcs carry from the start, where that is not nothing.
  void begin_with(std::int64_t flow) { flow_ = flow; }
  /// Nodes that changed sides since this was asked last.
  std::vector<std::uint32_t>& moved() { return moved_; }
  std::uint64_t augmentations() const { return augmentations_; }
  std::uint64_t detached() const { return detached_in_all_; }

 private:
  void join(std::uint32_t node, Half parent, Tree tree);
  void spread(Tree tree, std::size_t next);
  bool find_levels();

  ResidualNetwork& net_;
  std::vector<Tree> tree_;
  std::vector<Half> parent_;              ///< the arc towards the tree's root, as the node sees it
  std::vector<std::uint32_t> joined_[3];  ///< by tree: nodes to spread from
  std::vector<std::uint32_t> detached_;
  std::vector<std::uint8_t> was_source_;  ///< of each detached node
  std::vector<std::uint32_t> moved_;
  std::vector<Half> path_;
  std::vector<std::uint32_t> level_;  ///< arcs from the source, for fill_all
  std::vector<std::uint32_t> next_;   ///< the neighbour each node tries next, for fill_all
  std::vector<Half> meetings_;        ///< arcs over which the trees may meet
  Half meeting_ = 0;
  std::int64_t flow_ = 0;
  std::uint64_t augmentations_ = 0;
  std::uint64_t detached_in_all_ = 0;
};

}  // namespace perjoule
