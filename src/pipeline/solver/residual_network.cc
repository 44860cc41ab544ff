#include "pipeline/solver/residual_network.h"

namespace perjoule {

ResidualNetwork::ResidualNetwork(const ActivityNetwork& network,
                                 std::span<const std::uint32_t> curve_of, const CurveSet& curves)
    : curves_(curves) {
  add_activities(network, curve_of);
  index(2 * network.size() + 2);
}

ResidualNetwork::ResidualNetwork(const ActivityNetwork& network,
                                 std::span<const std::uint32_t> curve_of, const CurveSet& curves,
                                 Ticks makespan, std::span<const std::int64_t> supply)
    : curves_(curves), makespan_(makespan) {
  add_activities(network, curve_of);
  const std::uint32_t first = 2 * network.size();
  arcs_.push_back(Arc{first + 1, first, kReturn});
  for (std::uint32_t node = 0; node < supply.size(); ++node) {
    if (supply[node] == 0) continue;
    Arc arc{first + 2, node, kSupply};
    if (supply[node] < 0) arc = Arc{node, first + 3, kSupply};
    arc.upper = supply[node] < 0 ? -supply[node] : supply[node];
    arcs_.push_back(arc);
  }
  index(first + 4);
}

void ResidualNetwork::add_activities(const ActivityNetwork& network,
                                     std::span<const std::uint32_t> curve_of) {
  const std::uint32_t count = network.size();
  arcs_.reserve(count + network.precedences() + 64);
  const auto add = [this](std::uint32_t from, std::uint32_t to, std::uint32_t curve) {
    arcs_.push_back(Arc{from, to, curve});
  };
  for (std::uint32_t a = 0; a < count; ++a) {
    add(2 * a, 2 * a + 1, curve_of[a]);
    for (const std::uint32_t after : network.successors(a)) add(2 * a + 1, 2 * after, kPrecedence);
    if (network.predecessors(a).empty()) add(2 * count, 2 * a, kPrecedence);
    if (network.successors(a).empty()) add(2 * a + 1, 2 * count + 1, kPrecedence);
  }
}

void ResidualNetwork::index(std::uint32_t nodes) {
  first_.assign(nodes + 1, 0);
  for (const Arc& arc : arcs_) {
    ++first_[arc.from + 1];
    ++first_[arc.to + 1];
  }
  for (std::size_t n = 0; n + 1 < first_.size(); ++n) first_[n + 1] += first_[n];
  neighbours_.resize(2 * arcs_.size());
  place_.resize(2 * arcs_.size());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (std::uint32_t number = 0; number < arcs_.size(); ++number) {
    const Arc& arc = arcs_[number];
    place_[2 * number] = next[arc.from];
    neighbours_[next[arc.from]++] = {arc.to, (2 * number) << Neighbour::kShift};
    place_[2 * number + 1] = next[arc.to];
    neighbours_[next[arc.to]++] = {arc.from, (2 * number + 1) << Neighbour::kShift};
  }
}

void ResidualNetwork::settle(std::uint32_t number, Ticks length) {
  Arc& arc = arcs_[number];
  if (arc.curve == kPrecedence || arc.curve == kReturn) {
    arc.lower = 0;
    arc.upper = length == shortest(arc) ? CurveSet::kUnlimited : 0;
  } else if (arc.curve != kSupply) {
    const CurveSet::FlowBounds bounds = curves_.flow_bounds(arc.curve, length);
    arc.lower = bounds.lower;
    arc.upper = bounds.upper;
  }
  refresh(number);
}

Ticks ResidualNetwork::until_shorter_corner(std::uint32_t number, Ticks length) const {
  const Arc& arc = arcs_[number];
  if (arc.curve == kSupply) return kNever;
  if (arc.curve == kPrecedence || arc.curve == kReturn) {
    return length > shortest(arc) ? length - shortest(arc) : kNever;
  }
  const auto durations = curves_.durations(arc.curve);
  const auto at = std::lower_bound(durations.begin(), durations.end(), length);
  return at != durations.begin() ? length - *(at - 1) : kNever;
}

Ticks ResidualNetwork::until_longer_corner(std::uint32_t number, Ticks length) const {
  const Arc& arc = arcs_[number];
  if (arc.curve >= kSupply) return kNever;
  const auto durations = curves_.durations(arc.curve);
  const auto above = std::upper_bound(durations.begin(), durations.end(), length);
  return above != durations.end() ? *above - length : kNever;
}

std::int64_t ResidualNetwork::room(std::span<const Half> path) const {
  std::int64_t room = CurveSet::kUnlimited;
  for (const Half half : path) {
    const Arc& arc = arcs_[half >> 1];
    if ((half & 1) != 0) {
      room = std::min(room, arc.flow - arc.lower);
    } else if (arc.upper != CurveSet::kUnlimited) {
      room = std::min(room, arc.upper - arc.flow);
    }
  }
  return room;
}

/// Writes an arc's room where searches read it.
void ResidualNetwork::refresh(std::uint32_t number) {
  const Arc& arc = arcs_[number];
  const bool forward = arc.flow < arc.upper;
  const bool back = arc.flow > arc.lower;
  const auto set = [](Neighbour& neighbour, bool leaves, bool arrives) {
    neighbour.packed = (neighbour.packed & ~(Neighbour::kLeaves | Neighbour::kArrives)) |
                       (leaves ? Neighbour::kLeaves : 0) | (arrives ? Neighbour::kArrives : 0);
  };
  set(neighbours_[place_[2 * number]], forward, back);
  set(neighbours_[place_[2 * number + 1]], back, forward);
}

}  // namespace perjoule
