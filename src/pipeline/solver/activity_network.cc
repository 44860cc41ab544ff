#include "pipeline/solver/activity_network.h"

#include <algorithm>

namespace perjoule {
namespace {

/// Lists by key in one array: first[k] to first[k + 1] are the values of key k, in input order.
template <typename Key, typename Value>
void gather(std::uint32_t count, std::span<const Precedence> pairs, Key key, Value value,
            std::vector<std::uint32_t>& first, std::vector<std::uint32_t>& values) {
  first.assign(count + 1, 0);
  for (const Precedence& pair : pairs) ++first[key(pair) + 1];
  for (std::uint32_t k = 0; k < count; ++k) first[k + 1] += first[k];
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
  values.resize(pairs.size());
  for (const Precedence& pair : pairs) values[next[key(pair)]++] = value(pair);
}

}  // namespace

ActivityNetwork::ActivityNetwork(std::uint32_t count, std::span<const Precedence> precedences) {
  const auto before = [](const Precedence& p) { return p.before; };
  const auto after = [](const Precedence& p) { return p.after; };
  gather(count, precedences, before, after, first_after_, after_);
  gather(count, precedences, after, before, first_before_, before_);
}

std::span<const std::uint32_t> ActivityNetwork::successors(std::uint32_t activity) const {
  return std::span(after_).subspan(first_after_[activity],
                                   first_after_[activity + 1] - first_after_[activity]);
}

std::span<const std::uint32_t> ActivityNetwork::predecessors(std::uint32_t activity) const {
  return std::span(before_).subspan(first_before_[activity],
                                    first_before_[activity + 1] - first_before_[activity]);
}

Result<std::vector<std::uint32_t>> ActivityNetwork::topological_order() const {
  std::vector<std::uint32_t> waiting(size());
  std::vector<std::uint32_t> order;
  order.reserve(size());
  for (std::uint32_t a = 0; a < size(); ++a) {
    waiting[a] = first_before_[a + 1] - first_before_[a];
    if (waiting[a] == 0) order.push_back(a);
  }
  for (std::size_t next = 0; next < order.size(); ++next) {
    for (const std::uint32_t after : successors(order[next])) {
      if (--waiting[after] == 0) order.push_back(after);
    }
  }
  if (order.size() == size()) return order;
  return Error::invalid_argument("activities wait for one another in a circle, among them number " +
                                 std::to_string(find_cycle().front()));
}

std::vector<std::uint32_t> ActivityNetwork::find_cycle() const {
  // What Kahn's algorithm leaves has a predecessor that is left too; walking those must come round.
  std::vector<std::uint32_t> waiting(size());
  std::vector<std::uint32_t> ready;
  for (std::uint32_t a = 0; a < size(); ++a) {
    waiting[a] = first_before_[a + 1] - first_before_[a];
    if (waiting[a] == 0) ready.push_back(a);
  }
  for (std::size_t next = 0; next < ready.size(); ++next) {
    for (const std::uint32_t after : successors(ready[next])) {
      if (--waiting[after] == 0) ready.push_back(after);
    }
  }
  const auto left = std::find_if(waiting.begin(), waiting.end(), [](auto n) { return n > 0; });
  if (left == waiting.end()) return {};
  std::vector<std::uint32_t> walk;
  std::vector<bool> seen(size(), false);
  auto at = static_cast<std::uint32_t>(left - waiting.begin());
  while (!seen[at]) {
    seen[at] = true;
    walk.push_back(at);
    const auto back = predecessors(at);
    at = *std::find_if(back.begin(), back.end(), [&](auto p) { return waiting[p] > 0; });
  }
  walk.erase(walk.begin(), std::find(walk.begin(), walk.end(), at));
  std::reverse(walk.begin(), walk.end());
  return walk;
}

namespace {

/// Whether an activity comes behind the one that is numbered before it.
bool follows_the_one_before(const ActivityNetwork& network, std::uint32_t activity) {
  const auto before = network.predecessors(activity);
  return activity > 0 && std::find(before.begin(), before.end(), activity - 1) != before.end();
}

}  // namespace

EarliestTimes earliest_times(const ActivityNetwork& network, std::span<const std::uint32_t> order,
                             std::span<const Ticks> durations, std::span<const Ticks> setup) {
  EarliestTimes times;
  times.start.assign(network.size(), 0);
  for (const std::uint32_t activity : order) {
    if (!setup.empty() && setup[activity] > 0) {
      const Ticks before = follows_the_one_before(network, activity)
                               ? times.start[activity - 1] + durations[activity - 1]
                               : 0;
      times.start[activity] = std::max(times.start[activity], before + setup[activity]);
    }
    const Ticks end = times.start[activity] + durations[activity];
    times.makespan = std::max(times.makespan, end);
    for (const std::uint32_t after : network.successors(activity)) {
      times.start[after] = std::max(times.start[after], end);
    }
  }
  return times;
}

std::vector<Ticks> latest_ends(const ActivityNetwork& network, std::span<const std::uint32_t> order,
                               std::span<const Ticks> durations, Ticks makespan,
                               std::span<const Ticks> setup) {
  std::vector<Ticks> ends(network.size(), makespan);
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::uint32_t activity = order[i];
    const Ticks start = ends[activity] - durations[activity];
    for (const std::uint32_t before : network.predecessors(activity)) {
      ends[before] = std::min(ends[before], start);
    }
    if (!setup.empty() && setup[activity] > 0 && follows_the_one_before(network, activity))
      ends[activity - 1] = std::min(ends[activity - 1], start - setup[activity]);
  }
  return ends;
}

}  // namespace perjoule
