// The solver of time_cost_frontier.h.
//
// Two trees are kept: what the source reaches over arcs with room, and what reaches the sink. While
// they do not meet, everything but the source's tree moves. Filling a path closes some arcs of it;
// only what hung below those looks for a new place, in either tree.
#include <algorithm>

#include "pipeline/residual_network.h"
#include "pipeline/time_cost_frontier.h"

namespace perjoule {
namespace {

__extension__ using Wide = __int128;  // a flow times a shift

using Arc = ResidualNetwork::Arc;
using Neighbour = ResidualNetwork::Neighbour;

constexpr std::uint32_t kNone = UINT32_MAX;
/// Paths of one makespan that are filled one by one before all are filled at once.
constexpr int kFewPaths = 2;

/// kDetached: of neither at present, being looked after.
enum class Tree : std::uint8_t { kNeither, kSource, kSink, kDetached };

/// An arc between the source's tree and the rest, and the shift at which it comes to a corner.
struct Crossing {
  Ticks event;
  std::uint32_t arc;
};

bool later(const Crossing& a, const Crossing& b) { return a.event > b.event; }

}  // namespace

class TimeCostSolver {
 public:
  TimeCostSolver(const ActivityNetwork& network, std::span<const std::uint32_t> curve_of,
                 const CurveSet& curves, const ScheduleTimes& wanted)
      : net_(network, curve_of, curves), curves_(curves), wanted_(wanted) {
    std::sort(wanted_.makespans.begin(), wanted_.makespans.end(), std::greater<>());
  }

  void place(std::span<const Ticks> start, std::span<const Ticks> durations, Ticks makespan);
  /// Down to the shortest makespan, or to the last wanted one where only those are.
  void run();
  TimeCostFrontier take(double cost_of_longest);

 private:
  Ticks time(std::uint32_t node) const {
    return tree_[node] == Tree::kSource ? time_[node] : time_[node] - (shift_ - settled_);
  }
  void settle(std::uint32_t number) {
    const Arc& arc = net_.arc(number);
    net_.settle(number, time(arc.to) - time(arc.from));
  }
  bool crosses(const Arc& arc) const {
    return (tree_[arc.from] == Tree::kSource) != (tree_[arc.to] == Tree::kSource);
  }
  void settle_all();
  void join(std::uint32_t node, Half parent, Tree tree);
  void spread(Tree tree, std::size_t next);
  bool take_meeting();
  bool fill();
  void mend();
  bool find_levels();
  bool fill_all();
  void grow_anew();
  void list_crossing(std::uint32_t number);
  void list_crossings();
  bool advance();
  void move_to(Ticks shift);
  void corner(bool last);
  void keep_schedule(Ticks shift);

  ResidualNetwork net_;
  const CurveSet& curves_;
  ScheduleTimes wanted_;
  std::size_t kept_ = 0;     ///< of wanted_.makespans
  bool kept_flow_ = false;   ///< that wanted_.flow was passed
  std::vector<Ticks> time_;  ///< of each node, as of settled_
  std::vector<Tree> tree_;
  std::vector<Half> parent_;  ///< the arc towards the tree's root, as the node sees it
  Ticks shift_ = 0;
  Ticks settled_ = 0;
  Ticks longest_ = 0;
  std::int64_t flow_ = 0;
  Wide cost_ = 0;                         ///< units above the longest makespan's
  std::vector<std::uint32_t> joined_[3];  ///< by tree: nodes to spread from
  std::vector<std::uint32_t> detached_;
  std::vector<std::uint8_t> was_source_;  ///< of each detached node
  std::vector<std::uint32_t> moved_;      ///< nodes that changed sides since crossings were listed
  std::vector<Half> path_;
  std::vector<std::uint32_t> level_;  ///< arcs from the source, for fill_all
  std::vector<std::uint32_t> next_;   ///< the neighbour each node tries next, for fill_all
  std::vector<Half> meetings_;        ///< arcs over which the trees may meet
  Half meeting_ = kNone;
  std::vector<std::uint32_t> crossings_;
  std::vector<std::uint32_t> crossed_;
  std::vector<Crossing> events_;  ///< a heap, the next in front
  std::uint32_t listing_ = 0;
  TimeCostFrontier result_;
};

void TimeCostSolver::place(std::span<const Ticks> start, std::span<const Ticks> durations,
                           Ticks makespan) {
  longest_ = makespan;
  time_.resize(net_.nodes());
  for (std::size_t a = 0; a < start.size(); ++a) {
    time_[2 * a] = start[a];
    time_[2 * a + 1] = start[a] + durations[a];
  }
  time_[net_.source()] = 0;
  time_[net_.sink()] = makespan;
  tree_.assign(net_.nodes(), Tree::kNeither);
  parent_.assign(net_.nodes(), kNone);
  for (std::uint32_t number = 0; number < net_.arcs(); ++number) settle(number);
}

/// Makes times absolute and brings the arcs that crossed up to date; those that have room now are
/// meetings.
void TimeCostSolver::settle_all() {
  const Ticks moved = shift_ - settled_;
  if (moved == 0) return;
  for (std::size_t n = 0; n < time_.size(); ++n) {
    time_[n] -= tree_[n] == Tree::kSource ? 0 : moved;
  }
  settled_ = shift_;
  for (const std::uint32_t number : crossings_) {
    settle(number);
    for (const Half half : {2 * number, 2 * number + 1}) {
      if (net_.open(half)) meetings_.push_back(half);
    }
  }
}

/// Takes a node into a tree; `parent` is the arc that it hangs by, as the node sees it.
void TimeCostSolver::join(std::uint32_t node, Half parent, Tree tree) {
  if (tree == Tree::kSource) {
    time_[node] -= shift_ - settled_;  // it rests from now on
    if (tree_[node] == Tree::kNeither) moved_.push_back(node);
  }
  tree_[node] = tree;
  parent_[node] = parent;
  if (parent != kNone) net_.neighbour(parent ^ 1).packed |= Neighbour::kChild;
  joined_[static_cast<int>(tree)].push_back(node);
}

/// Spreads a tree from the nodes that joined it, behind `next`, to nodes of neither; arcs with room
/// to the other tree are noted as meetings.
void TimeCostSolver::spread(Tree tree, std::size_t next) {
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
bool TimeCostSolver::take_meeting() {
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
bool TimeCostSolver::fill() {
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
  ++result_.counts_.augmentations;
  return true;
}

/// Finds what hung below the arcs that were closed a new place, in its own tree or in the other.
void TimeCostSolver::mend() {
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
  result_.counts_.detached += detached_.size();
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
bool TimeCostSolver::find_levels() {
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
bool TimeCostSolver::fill_all() {
  while (find_levels()) {
    next_.assign(tree_.size(), 0);
    path_.clear();
    std::uint32_t node = net_.source();
    for (;;) {
      if (node == net_.sink()) {
        const std::int64_t room = net_.room(path_);
        if (room == CurveSet::kUnlimited) return false;
        flow_ += room;
        ++result_.counts_.augmentations;
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

void TimeCostSolver::grow_anew() {
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

void TimeCostSolver::list_crossing(std::uint32_t number) {
  Arc& arc = net_.arc(number);
  if (arc.listed == listing_ || !crosses(arc)) return;
  arc.listed = listing_;
  crossings_.push_back(number);
  const Ticks length = time(arc.to) - time(arc.from);
  const Ticks until = tree_[arc.from] == Tree::kSource ? net_.until_shorter_corner(number, length)
                                                       : net_.until_longer_corner(number, length);
  if (until != ResidualNetwork::kNever) events_.push_back({shift_ + until, number});
}

/// Lists the arcs that cross now: of those that crossed and those of nodes that moved.
void TimeCostSolver::list_crossings() {
  ++listing_;
  events_.clear();
  crossed_.swap(crossings_);
  crossings_.clear();
  for (const std::uint32_t number : crossed_) list_crossing(number);
  for (const std::uint32_t node : moved_) {
    const bool is_source = tree_[node] == Tree::kSource;
    for (const Neighbour& neighbour : net_.neighbours(node)) {
      if (is_source != (tree_[neighbour.node] == Tree::kSource)) {
        list_crossing(neighbour.half() >> 1);
      }
    }
  }
  moved_.clear();
  std::make_heap(events_.begin(), events_.end(), later);
}

/// Moves the sink's side from corner to corner until the trees meet. False where that was not
/// wanted.
bool TimeCostSolver::advance() {
  while (meetings_.empty()) {
    const Crossing next = events_.front();
    std::pop_heap(events_.begin(), events_.end(), later);
    events_.pop_back();
    const Arc& arc = net_.arc(next.arc);
    if (!crosses(arc)) continue;
    ++result_.counts_.events;
    move_to(next.event);
    if (wanted_.only && kept_ == wanted_.makespans.size()) return false;
    settle(next.arc);
    const Half half = tree_[arc.from] == Tree::kSource ? 2 * next.arc : 2 * next.arc + 1;
    const std::uint32_t reached = net_.other(half);
    if (tree_[reached] == Tree::kSink) {
      meetings_.push_back(half);
      return true;
    }
    joined_[1].clear();
    join(reached, half ^ 1, Tree::kSource);
    spread(Tree::kSource, 0);
    for (const std::uint32_t node : joined_[1]) {
      for (const Neighbour& neighbour : net_.neighbours(node)) {
        const std::uint32_t number = neighbour.half() >> 1;
        if (tree_[neighbour.node] == Tree::kSource) {
          settle(number);  // it crossed until now, or both ends joined
        } else {
          const std::size_t before = events_.size();
          list_crossing(number);
          if (events_.size() > before) std::push_heap(events_.begin(), events_.end(), later);
        }
      }
    }
  }
  return true;
}

void TimeCostSolver::move_to(Ticks shift) {
  while (kept_ < wanted_.makespans.size() && longest_ - wanted_.makespans[kept_] <= shift) {
    keep_schedule(std::max<Ticks>(0, longest_ - wanted_.makespans[kept_]));
    ++kept_;
  }
  cost_ += static_cast<Wide>(flow_) * (shift - shift_);
  shift_ = shift;
}

/// Keeps the schedule of a shift between the last event and the next one.
void TimeCostSolver::keep_schedule(Ticks shift) {
  Schedule schedule{longest_ - shift, {}, {}};
  const std::size_t activities = (time_.size() - 2) / 2;
  schedule.start.resize(activities);
  schedule.end.resize(activities);
  const auto at = [&](std::size_t node) {
    return time_[node] - (tree_[node] == Tree::kSource ? 0 : shift - settled_);
  };
  for (std::size_t a = 0; a < activities; ++a) {
    schedule.start[a] = at(2 * a);
    schedule.end[a] = at(2 * a + 1);
  }
  result_.schedules_.push_back(std::move(schedule));
}

void TimeCostSolver::corner(bool last) {
  auto& corners = result_.corners_;
  const double cost = static_cast<double>(cost_) * curves_.unit();
  const FrontierCorner here{longest_ - shift_, cost, flow_};
  if (!corners.empty() && corners.back().makespan == here.makespan) corners.pop_back();
  if (last || corners.empty() || corners.back().flow != here.flow) corners.push_back(here);
  if (wanted_.flow && !kept_flow_ && (last || flow_ >= *wanted_.flow)) {
    kept_flow_ = true;
    keep_schedule(shift_);
  }
  if (last) {
    for (; kept_ < wanted_.makespans.size(); ++kept_) keep_schedule(shift_);
  }
}

void TimeCostSolver::run() {
  grow_anew();
  for (;;) {
    for (int filled = 0; take_meeting(); ++filled) {
      if (!(filled < kFewPaths ? fill() : fill_all())) return corner(true);
      if (filled < kFewPaths) mend();
    }
    corner(false);
    list_crossings();
    if (!advance()) return corner(true);
    settle_all();
  }
}

TimeCostFrontier TimeCostSolver::take(double cost_of_longest) {
  for (FrontierCorner& corner : result_.corners_) corner.cost += cost_of_longest;
  std::stable_sort(result_.schedules_.begin(), result_.schedules_.end(),
                   [](const Schedule& a, const Schedule& b) { return a.makespan > b.makespan; });
  return std::move(result_);
}

Result<TimeCostFrontier> solve_time_cost(const ActivityNetwork& network,
                                         std::span<const std::uint32_t> curve_of,
                                         const CurveSet& curves, const ScheduleTimes& wanted) {
  PJ_TRY(const std::vector<std::uint32_t> order, network.topological_order());
  std::vector<Ticks> slowest(network.size());
  double cost = 0;
  for (std::uint32_t a = 0; a < network.size(); ++a) {
    slowest[a] = curves.durations(curve_of[a]).back();
    cost += curves.cost(curve_of[a], slowest[a]);
  }
  const EarliestTimes times = earliest_times(network, order, slowest);
  TimeCostSolver solver(network, curve_of, curves, wanted);
  solver.place(times.start, slowest, times.makespan);
  solver.run();
  return solver.take(cost);
}

}  // namespace perjoule
