#include "pipeline/solver/convex_circulation.h"

#include <algorithm>
#include <deque>

namespace perjoule {
namespace {

/// By which epsilon falls from round to round.
constexpr std::int64_t kFactor = 16;
/// How much nearer to the optimum a solution before a small change is than one of none.
constexpr std::int64_t kNearFactor = 64;
/// Arcs of a partial augmenting path.
constexpr std::size_t kLongestPath = 4;
/// Relabels a node, on average, between two updates of all potentials.
constexpr double kRelabelsAnUpdate = 0.5;
/// Looks at a half, on average, that whole ticks are sought with before epsilon alone proves them,
/// and once it does: if then they are not found an arc needed more flow than was allowed.
constexpr std::uint64_t kEarlyLooks = 20, kLastLooks = 200;
/// Below so many ticks of epsilon they are sought.
constexpr std::int64_t kEarly = 4;
/// Scaled times stay below, and what comes into a node or leaves it.
constexpr double kMost = 0x1p61, kMostExcess = 0x1p62;

tl::unexpected<Error> too_large() {
  return Error::out_of_range("times or flows too large for one makespan to be solved by itself",
                             "take a coarser tick");
}

/// Downwards, also below zero.
Ticks whole_ticks(std::int64_t scaled, std::int64_t scale) {
  return scaled >= 0 ? scaled / scale : -((-scaled + scale - 1) / scale);
}

}  // namespace

Result<ConvexCirculation> ConvexCirculation::make(const ActivityNetwork& network,
                                                  std::span<const std::uint32_t> curve_of,
                                                  const CurveSet& curves, const Most& most) {
  ConvexCirculation made(network, curve_of, curves);
  if (static_cast<double>(most.time) * static_cast<double>(made.scale_) > kMost) return too_large();
  made.add_arcs(network);
  const double largest = kMostExcess / made.most_arcs_of_a_node();
  made.largest_flow_ = static_cast<std::int64_t>(std::min(largest, static_cast<double>(most.flow)));
  made.open_arcs();
  return made;
}

void ConvexCirculation::add_arcs(const ActivityNetwork& network) {
  const std::uint32_t count = network.size();
  std::vector<Arc> arcs;
  arcs.reserve(count + network.precedences() + 64);
  for (std::uint32_t a = 0; a < count; ++a) {
    arcs.push_back({2 * a, 2 * a + 1, a});
    for (const std::uint32_t after : network.successors(a)) {
      arcs.push_back({2 * a + 1, 2 * after, kNoActivity});
    }
    if (network.predecessors(a).empty()) arcs.push_back({2 * count, 2 * a, kNoActivity});
    if (network.successors(a).empty()) arcs.push_back({2 * a + 1, 2 * count + 1, kNoActivity});
  }
  arcs.push_back({2 * count + 1, 2 * count, kNoActivity});  // the way back, shut until it is held
  index(arcs);
}

std::uint32_t ConvexCirculation::most_arcs_of_a_node() const {
  std::uint32_t most = 1;
  for (std::uint32_t n = 0; n < nodes(); ++n) {
    const auto begin = halves_.begin() + first_[n];
    const auto end = halves_.begin() + first_[n + 1];
    const auto ahead = static_cast<std::uint32_t>(
        std::count_if(begin, end, [](const Half& h) { return h.ahead; }));
    most = std::max({most, ahead, first_[n + 1] - first_[n] - ahead});
  }
  return most;
}

/// Room where nothing flows, and what the search needs.
void ConvexCirculation::open_arcs() {
  flow_.assign(own_.size(), 0);
  segment_.assign(own_.size(), 0);
  for (std::uint32_t a = 0; a < own_.size(); ++a) refresh(a);
  for (std::uint32_t number = 0; number < arcs(); ++number) {
    Half& half = halves_[forward_[number]];
    if (half.activity == kNoActivity) half.room = largest_flow_;
  }
  excess_.assign(nodes(), 0);
  on_path_.assign(halves_.size(), false);
  rank_.resize(nodes());
  behind_.resize(std::size_t{nodes()} + 1);
  before_.resize(std::size_t{nodes()} + 1);
  bucket_.assign(static_cast<std::size_t>(kFactor) * nodes(), nodes());
}

void ConvexCirculation::index(std::span<const Arc> arcs) {
  std::uint32_t nodes = 0;
  for (const Arc& arc : arcs) nodes = std::max({nodes, arc.from + 1, arc.to + 1});
  first_.assign(nodes + 1, 0);
  for (const Arc& arc : arcs) {
    ++first_[arc.from + 1];
    ++first_[arc.to + 1];
  }
  for (std::uint32_t n = 0; n < nodes; ++n) first_[n + 1] += first_[n];
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  halves_.resize(2 * arcs.size());
  forward_.reserve(arcs.size());
  for (const Arc& arc : arcs) {
    const std::uint32_t ahead = next[arc.from]++;
    const std::uint32_t back = next[arc.to]++;
    halves_[ahead] = {0, 0, arc.to, back, arc.activity, true};
    halves_[back] = {0, 0, arc.from, ahead, arc.activity, false};
    forward_.push_back(ahead);
    if (arc.activity != kNoActivity) own_.push_back(ahead);
  }
}

void ConvexCirculation::hold_makespan(Ticks makespan) {
  makespan_held_ = true;
  Half& ahead = halves_[forward_.back()];
  ahead.room = largest_flow_;
  ahead.cost = makespan * scale_;
  halves_[ahead.reverse].cost = -ahead.cost;
}

Outcome ConvexCirculation::hold_flow(std::int64_t flow) {
  if (flow > largest_flow_) return too_large();
  excess_[nodes() - 2] = flow;
  excess_[nodes() - 1] = -flow;
  return {};
}

std::int64_t ConvexCirculation::flow(std::uint32_t arc) const {
  const Half& ahead = halves_[forward_[arc]];
  return ahead.activity != kNoActivity ? flow_[ahead.activity] : halves_[ahead.reverse].room;
}

bool ConvexCirculation::unbounded(const Half& half) const {
  if (!half.ahead) return false;
  if (half.activity != kNoActivity) return segment_[half.activity] == 0;
  return &half != &halves_[forward_.back()] || makespan_held_;
}

/// Segment k is filled from slope k + 1, or from nothing, up to slope k; a unit in it earns
/// duration k. Slope 0 has no bound.
void ConvexCirculation::refresh(std::uint32_t activity) {
  const std::span<const std::int64_t> slopes = curves_->slopes(curve_of_[activity]);
  const std::span<const Ticks> durations = curves_->durations(curve_of_[activity]);
  const auto last = static_cast<std::uint32_t>(slopes.size() - 1);
  const auto bottom = [&](std::uint32_t k) { return k < last ? slopes[k + 1] : 0; };
  const std::int64_t flow = flow_[activity];
  std::uint32_t& filled = segment_[activity];
  while (filled > 0 && flow >= slopes[filled]) --filled;
  while (filled < last && flow < slopes[filled + 1]) ++filled;
  Half& ahead = halves_[own_[activity]];
  Half& back = halves_[ahead.reverse];
  ahead.room = (filled == 0 ? largest_flow_ : slopes[filled]) - flow;
  ahead.cost = -durations[filled] * scale_;
  const std::uint32_t emptied = flow == bottom(filled) && filled < last ? filled + 1 : filled;
  back.room = flow - bottom(emptied);
  back.cost = durations[emptied] * scale_;
}

void ConvexCirculation::push(std::uint32_t number, std::uint32_t owner, std::int64_t amount) {
  Half& half = halves_[number];
  excess_[owner] -= amount;
  excess_[half.to] += amount;
  if (half.activity != kNoActivity) {
    flow_[half.activity] += half.ahead ? amount : -amount;
    refresh(half.activity);
    return;
  }
  half.room -= amount;
  halves_[half.reverse].room += amount;
}

/// At its slowest, scaled.
std::int64_t ConvexCirculation::longest_activity() const {
  std::int64_t longest = 1;
  for (std::uint32_t a = 0; a < own_.size(); ++a)
    longest = std::max(longest, curves_->durations(curve_of_[a]).back() * scale_);
  return longest;
}

std::int64_t ConvexCirculation::worst_violation() const {
  std::int64_t worst = 1;
  for (std::uint32_t node = 0; node < nodes(); ++node) {
    for (std::uint32_t h = first_[node]; h < first_[node + 1]; ++h) {
      if (halves_[h].room > 0) worst = std::max(worst, -reduced_cost(h, node));
    }
  }
  return worst;
}

Outcome ConvexCirculation::solve(std::span<const Ticks> times) {
  potential_.resize(nodes());
  for (std::uint32_t n = 0; n < nodes(); ++n) potential_[n] = times[n] * scale_;
  // Times that nothing is wrong with but that no flow goes may have to move by an activity's
  // length.
  return scale_down(makespan_held_ ? worst_violation() : longest_activity());
}

Outcome ConvexCirculation::solve(std::span<const Ticks> times, std::span<const std::int64_t> flow) {
  potential_.resize(nodes());
  for (std::uint32_t n = 0; n < nodes(); ++n) potential_[n] = times[n] * scale_;
  for (std::uint32_t arc = 0; arc < forward_.size(); ++arc) {
    const std::uint32_t back = halves_[forward_[arc]].reverse;
    push(forward_[arc], halves_[back].to, std::min(flow[arc], largest_flow_));
  }
  return scale_down(longest_activity() / kNearFactor);
}

Outcome ConvexCirculation::scale_down(std::int64_t epsilon) {
  epsilon_ = epsilon;
  if (static_cast<double>(epsilon_) * nodes() > kMost) return too_large();
  do {
    epsilon_ = std::max<std::int64_t>(1, epsilon_ / kFactor);
    refine();
    ++counts_.rounds;
    const bool proven_by_epsilon = epsilon_ == 1;
    if (!proven_by_epsilon && epsilon_ >= kEarly * scale_) continue;
    const std::uint64_t looks = kEarlyLooks * halves_.size();
    if (prove(proven_by_epsilon ? kLastLooks * halves_.size() : looks)) return {};
  } while (epsilon_ > 1);
  return Error::internal("a schedule of one makespan needs more flow than 64 bits hold",
                         "give times in a coarser unit, or fewer instructions");
}

/// Fills what is worth more than it costs, so that the round begins with an optimum that does not
/// balance.
void ConvexCirculation::saturate() {
  for (std::uint32_t node = 0; node < nodes(); ++node) {
    for (std::uint32_t h = first_[node]; h < first_[node + 1]; ++h) {
      while (halves_[h].room > 0 && reduced_cost(h, node) < 0) push(h, node, halves_[h].room);
    }
  }
}

void ConvexCirculation::refine() {
  saturate();
  next_.assign(first_.begin(), first_.end() - 1);
  std::deque<std::uint32_t> active;
  for (std::uint32_t n = 0; n < nodes(); ++n) {
    if (excess_[n] > 0) active.push_back(n);
  }
  const auto between = static_cast<std::uint64_t>(kRelabelsAnUpdate * nodes());
  std::uint64_t update_at = counts_.relabels;
  while (!active.empty()) {
    const std::uint32_t node = active.front();
    if (excess_[node] <= 0) {
      active.pop_front();
      continue;
    }
    if (counts_.relabels >= update_at) {
      update_potentials();
      update_at = counts_.relabels + between;
    }
    find_path(node);
    std::uint32_t from = node;
    for (const std::uint32_t half : path_) {
      on_path_[half] = false;
      const std::uint32_t to = halves_[half].to;
      const std::int64_t amount = std::min(halves_[half].room, excess_[from]);
      if (amount > 0) {
        push(half, from, amount);
        if (excess_[to] > 0 && excess_[to] <= amount) active.push_back(to);
      }
      from = to;
    }
  }
}

/// Ends where a node lacks flow, where the path is long enough, and where it bites its tail.
void ConvexCirculation::find_path(std::uint32_t from) {
  path_.clear();
  std::uint32_t tip = from;
  while (path_.size() < kLongestPath && excess_[tip] >= 0) {
    std::uint32_t& at = next_[tip];
    const std::uint32_t end = first_[tip + 1];
    while (at < end && !(halves_[at].room > 0 && reduced_cost(at, tip) < 0)) ++at;
    if (at < end) {
      path_.push_back(at);
      if (on_path_[at]) return;
      on_path_[at] = true;
      tip = halves_[at].to;
      continue;
    }
    if (path_.empty()) {
      relabel(tip, {});
      continue;
    }
    const std::uint32_t came_by = path_.back();
    relabel(tip, halves_[came_by].reverse);
    on_path_[came_by] = false;
    path_.pop_back();
    tip = owner(came_by);
  }
}

/// Raises a node until there is a way on; the way that it was come by will have room back.
void ConvexCirculation::relabel(std::uint32_t node, std::optional<std::uint32_t> back) {
  std::int64_t least = back ? reduced_cost(*back, node) : INT64_MAX;
  for (std::uint32_t h = first_[node]; h < first_[node + 1]; ++h) {
    if (halves_[h].room > 0) least = std::min(least, reduced_cost(h, node));
  }
  potential_[node] += least + epsilon_;
  next_[node] = first_[node];
  ++counts_.relabels;
}

/// Raises all nodes by how far they are, in epsilons, from where flow is lacking, so that what is
/// too much finds the way there.
void ConvexCirculation::update_potentials() {
  ++counts_.updates;
  const std::uint32_t none = nodes();
  const auto ranks = static_cast<std::uint32_t>(bucket_.size());
  __extension__ __int128 to_reach = 0;
  const auto insert = [&](std::uint32_t node, std::uint32_t rank) {
    rank_[node] = rank;
    behind_[node] = bucket_[rank];
    before_[bucket_[rank]] = node;
    bucket_[rank] = node;
  };
  const auto remove = [&](std::uint32_t node) {
    if (bucket_[rank_[node]] == node) {
      bucket_[rank_[node]] = behind_[node];
    } else {
      behind_[before_[node]] = behind_[node];
      before_[behind_[node]] = before_[node];
    }
  };
  for (std::uint32_t n = 0; n < nodes(); ++n) {
    rank_[n] = ranks;
    if (excess_[n] < 0) insert(n, 0);
    if (excess_[n] > 0) to_reach += excess_[n];
  }
  std::uint32_t rank = 0;
  std::uint32_t highest = 0;
  for (; rank <= highest && to_reach > 0; ++rank) {
    while (bucket_[rank] != none && to_reach > 0) {
      const std::uint32_t node = bucket_[rank];
      bucket_[rank] = behind_[node];
      for (std::uint32_t h = first_[node]; h < first_[node + 1]; ++h) {
        const std::uint32_t other = halves_[h].to;
        if (rank_[other] <= rank || halves_[halves_[h].reverse].room <= 0) continue;
        const std::int64_t reduced = reduced_cost(halves_[h].reverse, other);
        const std::int64_t steps = reduced < 0 ? 0 : 1 + reduced / epsilon_;
        if (steps >= static_cast<std::int64_t>(rank_[other]) - rank) continue;
        if (rank_[other] < ranks) remove(other);
        insert(other, rank + static_cast<std::uint32_t>(steps));
        highest = std::max(highest, rank_[other]);
      }
      if (excess_[node] > 0) to_reach -= excess_[node];
    }
    if (to_reach <= 0) break;
  }
  for (std::uint32_t n = 0; n < nodes(); ++n) {
    const std::uint32_t raised = std::min(rank_[n], rank);
    if (raised == 0) continue;
    potential_[n] += epsilon_ * raised;
    next_[n] = first_[n];
  }
  std::fill_n(bucket_.begin(), highest + 1, none);
}

/// From the potentials rounded down, nodes move earlier for as long as an arc with room costs less
/// than nothing (Bellman and Ford, first in, first out): that ends where the flow is optimal.
bool ConvexCirculation::prove(std::uint64_t most_looks) {
  time_.resize(nodes());
  std::deque<std::uint32_t> changed;
  std::vector<bool> waits(nodes(), true);
  for (std::uint32_t n = 0; n < nodes(); ++n) {
    time_[n] = whole_ticks(potential_[n], scale_);
    changed.push_back(n);
  }
  std::uint64_t looks = 0;
  while (!changed.empty()) {
    const std::uint32_t node = changed.front();
    changed.pop_front();
    waits[node] = false;
    looks += first_[node + 1] - first_[node];
    if (looks > most_looks) return false;
    for (std::uint32_t h = first_[node]; h < first_[node + 1]; ++h) {
      const std::uint32_t before = halves_[h].to;
      const Half& half = halves_[halves_[h].reverse];
      if (half.room <= 0 && !unbounded(half)) continue;
      const Ticks latest = time_[node] + half.cost / scale_;
      if (time_[before] <= latest) continue;
      time_[before] = latest;
      if (!waits[before]) changed.push_back(before);
      waits[before] = true;
    }
  }
  const Ticks begin = time_[nodes() - 2];
  for (Ticks& time : time_) time -= begin;
  return true;
}

}  // namespace perjoule
