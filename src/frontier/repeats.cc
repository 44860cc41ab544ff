#include "frontier/repeats.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace perjoule {

namespace {
bool is_missing(const Point& point) { return point.energy.status == Status::kMissing; }

/// How much a figure tells: nothing, a bound, or itself.
int worth(const Point& point) {
  if (is_missing(point)) return 0;
  return point.energy.one_sided() ? 1 : 2;
}
}  // namespace

/// The slot that holds the config's first point, or the free one where it belongs.
RepeatCollector::Slot& RepeatCollector::slot_of(const Config& config, std::uint32_t hash) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].point != 0 &&
         (slots_[at].hash != hash || points_[slots_[at].point - 1].config != config))
    at = (at + 1) & mask;
  return slots_[at];
}

/// Keeps at least half of the slots free.
void RepeatCollector::grow() {
  if (slots_.size() > 2 * points_.size()) return;
  std::vector<Slot> before(std::max<std::size_t>(64, 2 * slots_.size()));
  before.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : before) {
    if (slot.point == 0) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].point != 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

void RepeatCollector::add(Point point) {
  // Four thousand million points are a terabyte: no index of one is larger.
  if (average_ && !point.config.empty()) {
    grow();
    const auto hash = static_cast<std::uint32_t>(point.config.hash());
    Slot& slot = slot_of(point.config, hash);
    if (slot.point != 0) return repeat(slot.point - 1, std::move(point));
    slot = {static_cast<std::uint32_t>(points_.size() + 1), hash};
  }
  points_.push_back(std::move(point));
}

RepeatCollector::Sum RepeatCollector::sum_of(Point point) {
  const double joules = point.energy.joules.value();
  return {std::move(point), 1, joules, 0};
}

void RepeatCollector::repeat(std::size_t first, Point point) {
  const auto [at, is_new] = sums_.try_emplace(first);
  Sum& sum = at->second;
  if (is_new) sum = sum_of(points_[first]);
  if (worth(point) != worth(sum.total)) {
    // What is missing yields to what is there, and a bound to a figure.
    if (worth(point) > worth(sum.total)) sum = sum_of(std::move(point));
    return;
  }
  sum.total.time += point.time;
  sum.total.rate += point.rate;
  sum.total.energy = sum.total.energy + point.energy;
  sum.n += 1;
  // Welford's sum of squares: of joules that differ in their last digits nothing is lost.
  const double off = point.energy.joules.value() - sum.mean;
  sum.mean += off / sum.n;
  sum.squares += off * (point.energy.joules.value() - sum.mean);
}

std::vector<Point> RepeatCollector::take() && {
  for (auto& [first, sum] : sums_) {
    Point& mean = points_[first];
    mean.time = sum.total.time / sum.n;
    mean.rate = sum.total.rate / sum.n;
    mean.energy = sum.n > 1 ? sum.total.energy / sum.n : std::move(sum.total.energy);
    if (is_missing(mean) || sum.n < 2) continue;
    const Joules scatter(std::sqrt(sum.squares / (sum.n - 1) / sum.n));
    mean.energy.random = std::max(mean.energy.random, scatter);
  }
  return std::move(points_);
}

std::vector<Point> average_repeats(std::vector<Point> points) {
  RepeatCollector repeats;
  for (Point& point : points) repeats.add(std::move(point));
  return std::move(repeats).take();
}

}  // namespace perjoule
