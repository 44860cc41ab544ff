#include "meter/counter_course.h"

#include <algorithm>

#include "meter/uncertainty.h"

namespace perjoule {
namespace {

// Of the power between two ticks around a moment, relative: work on one side of it, waiting on the
// other.
constexpr double kPowerSpread = 0.3;

AlignedEdge edge_of(const CounterCourse::Around& around, const CounterTick& tick, Seconds slip) {
  const Watts power = around.power();
  return {tick.gap, slip, power, power * kPowerSpread};
}

}  // namespace

CounterCourse CounterCourse::of(const Timeline& timeline, Instant origin) {
  CounterCourse course;
  for (std::size_t i = 1; i < timeline.size(); ++i) {
    if (timeline.total_micro(i) == timeline.total_micro(i - 1)) continue;
    const Seconds after = timeline.time(i) - origin;
    const Seconds before = timeline.time(i - 1) - origin;
    course.ticks_.push_back(
        {(before + after) / 2.0, after - before,
         Joules(static_cast<double>(timeline.total_micro(i) - timeline.total_micro(0)) * 1e-6)});
  }
  return course;
}

void CounterCourse::add(std::span<const CounterTick> ticks) {
  ticks_.insert(ticks_.end(), ticks.begin(), ticks.end());
}

std::optional<CounterCourse::Around> CounterCourse::around(Seconds moment) const {
  const auto after =
      std::upper_bound(ticks_.begin(), ticks_.end(), moment,
                       [](Seconds at, const CounterTick& tick) { return at < tick.at; });
  if (after == ticks_.begin() || after == ticks_.end()) return std::nullopt;
  return Around{*(after - 1), *after};
}

void CounterCourse::forget_before(Seconds moment) {
  while (ticks_.size() > 1 && ticks_[1].at <= moment) ticks_.pop_front();
}

Energy energy_between(const SourceInfo& counter, const CounterCourse::Around& at_begin,
                      Seconds begin, const CounterCourse::Around& at_end, Seconds end) {
  WindowFacts facts;
  facts.difference = at_end.after.energy - at_begin.before.energy;
  facts.duration = end - begin;
  facts.aligned_begin = edge_of(at_begin, at_begin.before, begin - at_begin.before.at);
  facts.aligned_end = edge_of(at_end, at_end.after, at_end.after.at - end);
  return to_energy(counter, estimate_energy(counter, facts));
}

}  // namespace perjoule
