#include "frontier/repeats.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <unordered_map>

namespace perjoule {

namespace {

/// Names are left out: they are the same in every row of a table.
std::size_t hash_of(const Config& config) {
  std::size_t seed = 0;
  for (const Setting& setting : config.settings()) {
    seed ^=
        std::hash<std::string>{}(setting.value) + 0x9e3779b97f4a7c15U + (seed << 6U) + (seed >> 2U);
  }
  return seed;
}

/// For each point the first one of the same config (itself, when it is that). Open addressing over
/// indices: a map of a million nodes would cost more than everything else here.
std::vector<std::size_t> first_of_each(const std::vector<Point>& points) {
  std::size_t slots = 16;
  while (slots < 2 * points.size()) slots *= 2;
  constexpr std::size_t kFree = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> table(slots, kFree);
  std::vector<std::size_t> first(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    first[i] = i;
    if (points[i].config.empty()) continue;
    std::size_t slot = hash_of(points[i].config) & (slots - 1);
    while (table[slot] != kFree && points[table[slot]].config != points[i].config)
      slot = (slot + 1) & (slots - 1);
    if (table[slot] == kFree) table[slot] = i;
    first[i] = table[slot];
  }
  return first;
}

/// The mean of members.size() >= 2 points, none of them missing unless all are.
Point mean_of(const std::vector<Point>& points, const std::vector<std::size_t>& members) {
  const auto n = static_cast<double>(members.size());
  Point mean = points[members.front()];
  for (std::size_t i = 1; i < members.size(); ++i) {
    const Point& more = points[members[i]];
    mean.time += more.time;
    mean.rate += more.rate;
    mean.energy = mean.energy + more.energy;
  }
  mean.time /= n;
  mean.rate /= n;
  mean.energy = mean.energy / n;
  if (mean.energy.status == Status::kMissing) return mean;
  double squares = 0;
  for (const std::size_t i : members) {
    const double off = (points[i].energy.joules - mean.energy.joules).value();
    squares += off * off;
  }
  mean.energy.random = std::max(mean.energy.random, Joules(std::sqrt(squares / (n - 1) / n)));
  return mean;
}

}  // namespace

std::vector<Point> average_repeats(std::vector<Point> points) {
  const std::vector<std::size_t> first = first_of_each(points);
  std::unordered_map<std::size_t, std::vector<std::size_t>> repeats;  // by the first's index
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (first[i] != i) repeats[first[i]].push_back(i);
  }
  if (repeats.empty()) return points;
  std::vector<Point> averaged;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (first[i] != i) continue;
    const auto more = repeats.find(i);
    if (more == repeats.end()) {
      averaged.push_back(std::move(points[i]));
      continue;
    }
    std::vector<std::size_t> members{i};
    members.insert(members.end(), more->second.begin(), more->second.end());
    std::vector<std::size_t> present;
    for (const std::size_t member : members) {
      if (points[member].energy.status != Status::kMissing) present.push_back(member);
    }
    if (present.empty()) present = members;
    averaged.push_back(present.size() == 1 ? points[present.front()] : mean_of(points, present));
    averaged.back().origin = points[i].origin;
  }
  return averaged;
}

}  // namespace perjoule
