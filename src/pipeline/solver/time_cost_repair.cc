#include "pipeline/solver/time_cost_repair.h"

#include <algorithm>
#include <cmath>

#include "pipeline/solver/event_walk.h"
#include "pipeline/solver/fixed_makespan.h"

namespace perjoule {
namespace {

using Arc = ResidualNetwork::Arc;

/// Paths of one move that are filled one by one before all are filled at once.
constexpr int kFewPaths = 2;
/// Looks at an arc, on average, after which solving anew is quicker.
constexpr std::uint64_t kMostLooks = 150;

/// Calls `visit(from, to, curve)` for the arcs of a residual network, in its order.
template <typename Visit>
void for_each_arc(const ActivityNetwork& network, std::span<const std::uint32_t> curve_of,
                  Visit visit) {
  const std::uint32_t count = network.size();
  for (std::uint32_t a = 0; a < count; ++a) {
    visit(2 * a, 2 * a + 1, curve_of[a]);
    for (const std::uint32_t after : network.successors(a)) {
      visit(2 * a + 1, 2 * after, ResidualNetwork::kPrecedence);
    }
    if (network.predecessors(a).empty()) visit(2 * count, 2 * a, ResidualNetwork::kPrecedence);
    if (network.successors(a).empty())
      visit(2 * a + 1, 2 * count + 1, ResidualNetwork::kPrecedence);
  }
}

CurveSet::FlowBounds bounds_of(const CurveSet& curves, std::uint32_t curve, Ticks length) {
  if (curve != ResidualNetwork::kPrecedence) return curves.flow_bounds(curve, length);
  return {0, length == 0 ? CurveSet::kUnlimited : 0};
}

/// Step 1: the times of all nodes, no later than the makespan allows and else as they were, or
/// later where something before them takes longer now.
std::vector<Ticks> feasible_times(const ActivityNetwork& network,
                                  std::span<const std::uint32_t> order,
                                  std::span<const Ticks> shortest, const Schedule& before,
                                  Ticks makespan) {
  const std::vector<Ticks> latest = latest_ends(network, order, shortest, makespan);
  std::vector<Ticks> times(2 * std::size_t{network.size()} + 2, 0);
  for (const std::uint32_t a : order) {
    Ticks start = std::min(before.start[a], latest[a] - shortest[a]);
    for (const std::uint32_t b : network.predecessors(a)) start = std::max(start, times[2 * b + 1]);
    times[2 * a] = start;
    times[2 * a + 1] = std::max(std::min(before.end[a], latest[a]), start + shortest[a]);
  }
  times.back() = makespan;
  return times;
}

/// A flow in another unit; units are powers of two.
std::int64_t rescaled(std::int64_t flow, int exponent) {
  return exponent >= 0 ? flow << exponent : flow >> -exponent;
}

/// Step 2: the flow of every arc within its bounds, the way back's last, and what more comes into
/// each node than goes out.
struct HeldFlow {
  std::vector<std::int64_t> flow;
  std::vector<std::int64_t> excess;
  std::int64_t in_all = 0;
  std::uint64_t nodes = 0;
};

HeldFlow hold_flow(const ActivityNetwork& network, std::span<const std::uint32_t> curve_of,
                   const CurveSet& curves, const Schedule& before, std::span<const Ticks> times) {
  HeldFlow held;
  held.excess.assign(times.size(), 0);
  held.flow.reserve(before.flow.size() + 1);
  const int exponent = static_cast<int>(std::lround(std::log2(before.unit / curves.unit())));
  std::int64_t value = 0;
  const std::uint32_t begin = 2 * network.size();
  for_each_arc(network, curve_of, [&](std::uint32_t from, std::uint32_t to, std::uint32_t curve) {
    const CurveSet::FlowBounds bounds = bounds_of(curves, curve, times[to] - times[from]);
    const std::int64_t was = rescaled(before.flow[held.flow.size()], exponent);
    const std::int64_t flow = std::clamp(was, bounds.lower, bounds.upper);
    held.flow.push_back(flow);
    held.excess[from] -= flow;
    held.excess[to] += flow;
    if (from == begin) value += flow;
  });
  held.flow.push_back(value);
  held.excess[begin] += value;
  held.excess[begin + 1] -= value;
  for (const std::int64_t excess : held.excess) {
    held.in_all += std::max<std::int64_t>(0, excess);
    held.nodes += excess != 0 ? 1 : 0;
  }
  return held;
}

}  // namespace

Result<Schedule> repair_schedule(const ActivityNetwork& network,
                                 std::span<const std::uint32_t> order,
                                 std::span<const std::uint32_t> curve_of, const CurveSet& curves,
                                 const Schedule& before, Ticks makespan, RepairCounts* counts) {
  std::size_t arcs = 0;
  for_each_arc(network, curve_of, [&](auto, auto, auto) { ++arcs; });
  if (before.start.size() != network.size() || before.flow.size() != arcs) {
    return Error::invalid_argument("the schedule to repair is of another network",
                                   "solve this one from the start");
  }
  std::vector<Ticks> shortest(network.size());
  for (std::uint32_t a = 0; a < network.size(); ++a) {
    shortest[a] = curves.durations(curve_of[a]).front();
  }
  Schedule after;
  after.makespan = std::max(makespan, earliest_times(network, order, shortest).makespan);
  after.unit = curves.unit();
  std::vector<Ticks> times = feasible_times(network, order, shortest, before, after.makespan);
  const HeldFlow held = hold_flow(network, curve_of, curves, before, times);

  ResidualNetwork net(network, curve_of, curves, after.makespan, held.excess);
  for (std::uint32_t number = 0; number < held.flow.size(); ++number) {
    net.arc(number).flow = held.flow[number];
  }
  const std::vector<Ticks> first_times = times;
  times.resize(net.nodes(), 0);
  EventWalk walk(net);
  walk.start(std::move(times));
  SearchTrees& trees = walk.trees();
  trees.grow_anew();
  const auto report = [&] {
    if (counts != nullptr) *counts = {held.nodes, trees.augmentations(), walk.events(), false};
  };
  bool may_be_anew = true;
  for (std::uint64_t looks = 0;;) {
    for (int filled = 0; trees.take_meeting(); ++filled) {
      const bool bounded = filled < kFewPaths ? trees.fill() : trees.fill_all();
      if (!bounded) return Error::internal("a repair's flow has no bound");
      if (filled < kFewPaths) {
        trees.mend();
      } else {
        looks += net.arcs();
      }
    }
    looks += net.arcs();
    if (may_be_anew && looks + trees.detached() > kMostLooks * net.arcs()) {
      may_be_anew = false;  // where it fails, it fails again
      auto anew = schedule_of_makespan_from(network, order, curve_of, curves, after.makespan,
                                            first_times, held.flow);
      if (anew) {
        report();
        if (counts != nullptr) counts->anew = true;
        return anew;
      }
    }
    if (trees.flow() == held.in_all) break;
    walk.list_crossings();
    if (!walk.advance([](Ticks) { return true; })) {
      return Error::internal("a repair's flow finds no way");
    }
    walk.settle_all();
  }

  const Ticks begin = walk.time(2 * network.size());
  for (std::uint32_t a = 0; a < network.size(); ++a) {
    after.start.push_back(walk.time(2 * a) - begin);
    after.end.push_back(walk.time(2 * a + 1) - begin);
  }
  for (std::uint32_t number = 0; number < arcs; ++number) {
    const Arc& arc = net.arc(number);
    after.flow.push_back(arc.flow);
    if (arc.curve != ResidualNetwork::kPrecedence) {
      after.price.push_back(static_cast<double>(arc.flow) * after.unit);
    }
  }
  report();
  return after;
}

bool is_proven_optimal(const ActivityNetwork& network, std::span<const std::uint32_t> curve_of,
                       const CurveSet& curves, const Schedule& schedule) {
  const std::uint32_t begin = 2 * network.size();
  std::vector<std::int64_t> excess(begin + 2, 0);
  const auto time = [&](std::uint32_t node) {
    if (node >= begin) return node == begin ? Ticks{0} : schedule.makespan;
    return node % 2 == 0 ? schedule.start[node / 2] : schedule.end[node / 2];
  };
  bool proven = true;
  std::size_t number = 0;
  for_each_arc(network, curve_of, [&](std::uint32_t from, std::uint32_t to, std::uint32_t curve) {
    const Ticks length = time(to) - time(from);
    const Ticks least = curve == ResidualNetwork::kPrecedence ? 0 : curves.durations(curve).front();
    const std::int64_t flow = number < schedule.flow.size() ? schedule.flow[number++] : -1;
    const CurveSet::FlowBounds bounds = bounds_of(curves, curve, length);
    proven = proven && length >= least && flow >= bounds.lower && flow <= bounds.upper;
    excess[from] -= flow;
    excess[to] += flow;
  });
  for (std::uint32_t node = 0; node < begin; ++node) proven = proven && excess[node] == 0;
  return proven && schedule.unit == curves.unit();
}

}  // namespace perjoule
