#include "pipeline/solver/search_trees.h"

namespace perjoule {
namespace {

using Neighbour = ResidualNetwork::Neighbour;

constexpr std::uint32_t kNone = UINT32_MAX;

}  // namespace

SearchTrees::SearchTrees(ResidualNetwork& net)
    : net_(net), tree_(net.nodes(), Tree::kNeither), parent_(net.nodes(), kNone) {}

/// Takes a node into a tree; `parent` is the arc that it hangs by, as the node sees it.
void SearchTrees::join(std::uint32_t node, Half parent, Tree tree) {
  if (tree == Tree::kSource && tree_[node] == Tree::kNeither) moved_.push_back(node);
  tree_[node] = tree;
  parent_[node] = parent;
  if (parent != kNone) net_.neighbour(parent ^ 1).packed |= Neighbour::kChild;
  joined_[static_cast<int>(tree)].push_back(node);
}

/// Spreads a tree from the nodes that joined it, behind `next`, to nodes of neither; arcs with room
/// to the other tree are noted as meetings.
void SearchTrees::spread(Tree tree, std::size_t next) {
  const std::vector<std::uint32_t>& joined = joined_[static_cast<int>(tree)];
  const bool down = tree == Tree::kSource;
  for (; next < joined.size(); ++next) {
    for (const Neighbour& neighbour : net_.neighbours(joined[next])) {
      if (!(down ? neighbour.leaves() : neighbour.arrives())) continue;
      const Tree its = tree_[neighbour.node];
      if (its == tree) continue;
      if (its == Tree::kNeither || its == Tree::kDetached) {
        join(neighbour.node, neighbour.half() ^ 1, tree);
      } else {
        meetings_.push_back(down ? neighbour.half() : neighbour.half() ^ 1);
      }
    }
  }
}

/// Finds an arc with room from the source's tree to the sink's.
bool SearchTrees::take_meeting() {
  while (!meetings_.empty()) {
    const Half half = meetings_.back();
    meetings_.pop_back();
    if (!net_.open(half) || tree_[net_.owner(half)] != Tree::kSource) continue;
    const std::uint32_t to = net_.other(half);
    if (tree_[to] == Tree::kNeither) {
      const std::size_t before = joined_[1].size();
      join(to, half ^ 1, Tree::kSource);
      spread(Tree::kSource, before);
    } else if (tree_[to] == Tree::kSink) {
      meeting_ = half;
      return true;
    }
  }
  return false;
}

/// Increases the flow along the path over meeting_. Whether that had a bound.
bool SearchTrees::fill() {
  path_.clear();
  for (std::uint32_t n = net_.owner(meeting_); n != net_.source(); n = net_.other(parent_[n])) {
    path_.push_back(parent_[n] ^ 1);
  }
  const std::size_t across = path_.size();
  path_.push_back(meeting_);
  for (std::uint32_t n = net_.other(meeting_); n != net_.sink(); n = net_.other(parent_[n])) {
    path_.push_back(parent_[n]);
  }
  const std::int64_t room = net_.room(path_);
  if (room == CurveSet::kUnlimited) return false;
  detached_.clear();
  for (std::size_t i = 0; i < path_.size(); ++i) {
    const Half half = path_[i];
    net_.add_flow(half, room);
    if (net_.open(half) || i == across) continue;
    // In the source's tree the far end loses its parent, in the sink's tree the near one.
    const std::uint32_t orphan = i < across ? net_.other(half) : net_.owner(half);
    net_.neighbour(parent_[orphan] ^ 1).packed &= ~Neighbour::kChild;
    detached_.push_back(orphan);
  }
  meetings_.push_back(meeting_);
  flow_ += room;
  ++augmentations_;
  return true;
}

/// Finds what hung below the arcs that were closed a new place, in its own tree or in the other.
void SearchTrees::mend() {
  was_source_.clear();
  for (std::size_t next = 0; next < detached_.size(); ++next) {
    const std::uint32_t node = detached_[next];
    was_source_.push_back(tree_[node] == Tree::kSource);
    tree_[node] = Tree::kDetached;
    for (Neighbour& neighbour : net_.neighbours(node)) {
      if (!neighbour.child()) continue;
      neighbour.packed &= ~Neighbour::kChild;
      detached_.push_back(neighbour.node);
    }
  }
  detached_in_all_ += detached_.size();
  joined_[1].clear();
  joined_[2].clear();
  for (const std::uint32_t node : detached_) {
    for (const Neighbour& neighbour : net_.neighbours(node)) {
      const Tree its = tree_[neighbour.node];
      if ((its == Tree::kSource && neighbour.arrives()) ||
          (its == Tree::kSink && neighbour.leaves())) {
        join(node, neighbour.half(), its);
        break;
      }
    }
  }
  spread(Tree::kSource, 0);
  spread(Tree::kSink, 0);
  for (std::size_t i = 0; i < detached_.size(); ++i) {
    const bool is_source = tree_[detached_[i]] == Tree::kSource;
    if (is_source != (was_source_[i] != 0)) moved_.push_back(detached_[i]);
    if (tree_[detached_[i]] == Tree::kDetached) tree_[detached_[i]] = Tree::kNeither;
  }
}

/// Finds how far each node is from the source over arcs with room. Whether the sink is reached.
bool SearchTrees::find_levels() {
  level_.assign(tree_.size(), kNone);
  level_[net_.source()] = 0;
  std::vector<std::uint32_t>& reached = joined_[1];
  reached.assign(1, net_.source());
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const std::uint32_t node = reached[next];
    for (const Neighbour& neighbour : net_.neighbours(node)) {
      if (!neighbour.leaves() || level_[neighbour.node] != kNone) continue;
      level_[neighbour.node] = level_[node] + 1;
      if (neighbour.node == net_.sink()) return true;
      reached.push_back(neighbour.node);
    }
  }
  return false;
}

/// Fills shortest paths until none is left (Dinic 1970), then grows both trees anew: many paths of
/// one makespan, as identical microbatches give, cost less this way. Whether all had a bound.
bool SearchTrees::fill_all() {
  while (find_levels()) {
    next_.assign(tree_.size(), 0);
    path_.clear();
    std::uint32_t node = net_.source();
    for (;;) {
      if (node == net_.sink()) {
        const std::int64_t room = net_.room(path_);
        if (room == CurveSet::kUnlimited) return false;
        flow_ += room;
        ++augmentations_;
        std::size_t keep = path_.size();
        for (std::size_t i = path_.size(); i-- > 0;) {
          net_.add_flow(path_[i], room);
          if (!net_.open(path_[i])) keep = i;
        }
        node = net_.owner(path_[keep]);
        path_.resize(keep);
        continue;
      }
      const std::span<Neighbour> neighbours = net_.neighbours(node);
      std::uint32_t& i = next_[node];
      while (i < neighbours.size() &&
             !(neighbours[i].leaves() && level_[neighbours[i].node] == level_[node] + 1)) {
        ++i;
      }
      if (i < neighbours.size()) {
        path_.push_back(neighbours[i].half());
        node = neighbours[i].node;
      } else if (path_.empty()) {
        break;
      } else {
        level_[node] = kNone;  // no way from here
        node = net_.owner(path_.back());
        path_.pop_back();
      }
    }
  }
  grow_anew();
  return true;
}

void SearchTrees::grow_anew() {
  was_source_.resize(tree_.size());
  for (std::size_t n = 0; n < tree_.size(); ++n) {
    was_source_[n] = tree_[n] == Tree::kSource;
    tree_[n] = Tree::kDetached;
  }
  for (Neighbour& neighbour : net_.neighbours()) neighbour.packed &= ~Neighbour::kChild;
  joined_[1].clear();
  joined_[2].clear();
  meetings_.clear();
  join(net_.source(), kNone, Tree::kSource);
  join(net_.sink(), kNone, Tree::kSink);
  spread(Tree::kSource, 0);
  spread(Tree::kSink, 0);
  for (std::uint32_t n = 0; n < tree_.size(); ++n) {
    if ((tree_[n] == Tree::kSource) != (was_source_[n] != 0)) moved_.push_back(n);
    if (tree_[n] == Tree::kDetached) tree_[n] = Tree::kNeither;
  }
}

std::span<const std::uint32_t> SearchTrees::reach(Half over) {
  joined_[1].clear();
  join(net_.other(over), over ^ 1, Tree::kSource);
  spread(Tree::kSource, 0);
  return joined_[1];
}

}  // namespace perjoule
