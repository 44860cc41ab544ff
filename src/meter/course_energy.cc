#include "meter/course_energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "meter/counter_course.h"
#include "meter/uncertainty.h"

namespace perjoule {
namespace {

// A pause between two samples of a gauge that is this much longer than usual was not sampled.
constexpr double kLongPause = 2.5;

std::optional<Energy> counter_energy(const Course& course, Instant from, Instant until) {
  const CounterCourse ticks = CounterCourse::of(*course.timeline, from);
  const auto begin = ticks.around(Seconds(0));
  const auto end = ticks.around(until - from);
  if (!begin || !end) return std::nullopt;
  return energy_between(course.info, *begin, Seconds(0), *end, until - from);
}

/// The samples between two instants as what a gauge's window sees.
std::optional<Energy> gauge_energy(const Course& course, Instant from, Instant until) {
  const Timeline& timeline = *course.timeline;
  if (timeline.size() < 2 || timeline.time(0) > from || timeline.time(timeline.size() - 1) < until)
    return std::nullopt;
  const Seconds usual = (timeline.time(timeline.size() - 1) - timeline.time(0)) /
                        static_cast<double>(timeline.size() - 1);
  WindowFacts facts;
  facts.duration = until - from;
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i + 1 < timeline.size(); ++i) {
    const Seconds step = timeline.time(i + 1) - timeline.time(i);
    const Seconds inside = std::min(timeline.time(i + 1), until) - std::max(timeline.time(i), from);
    if (inside.value() <= 0) continue;
    const Watts power = timeline.power(i);
    facts.difference += power * inside;
    facts.power_end = power;
    if (!facts.power_begin) facts.power_begin = facts.lowest = facts.highest = power;
    facts.lowest = std::min(facts.lowest, power);
    facts.highest = std::max(facts.highest, power);
    if (step > kLongPause * usual) facts.gap += inside;
    sum += power.value();
    squares += power.value() * power.value();
    ++facts.samples;
  }
  const double mean = sum / std::max(1, facts.samples);
  facts.spread =
      Watts(std::sqrt(std::max(0.0, squares / std::max(1, facts.samples) - mean * mean)));
  return to_energy(course.info, estimate_energy(course.info, facts));
}

/// What the window around it knows of the source and its course does not show.
void take_over(const SourceMeasurement& around, Seconds around_time, Seconds time,
               SourceMeasurement& source) {
  source.notes.insert(source.notes.end(), around.notes.begin(), around.notes.end());
  if (source.energy.status == Status::kMissing) return;
  if (around.energy.status == Status::kMissing) {
    source.energy.status = Status::kMissing;
    return;
  }
  source.energy.lower_bound |= around.energy.lower_bound;
  source.energy.upper_bound |= around.energy.upper_bound;
  // A model's error is its own interval, which the sensor's arithmetic knows nothing of.
  if (around.info.status != Status::kEstimated || !(around.energy.joules.value() > 0)) return;
  const double energy_share = source.energy.joules / around.energy.joules;
  const double time_share = time / around_time;
  source.energy.systematic.clear();
  for (SystematicPart part : around.energy.systematic) {
    const bool is_offset = part.sensor.size() > 7 && part.sensor.ends_with("/offset");
    part.sigma = part.sigma * (is_offset ? time_share : energy_share);
    source.energy.systematic.push_back(std::move(part));
  }
  source.energy.lower = around.energy.lower * energy_share;
  source.energy.upper = around.energy.upper * energy_share;
}

}  // namespace

Measurement measurement_between(const std::vector<Course>& courses, const Measurement& around,
                                Instant from, Instant until) {
  Measurement measurement;
  measurement.duration = until - from;
  measurement.notes = around.notes;
  for (const Course& course : courses) {
    SourceMeasurement source;
    source.info = course.info;
    const auto energy = course.info.kind == SourceKind::kEnergyCounter
                            ? counter_energy(course, from, until)
                            : gauge_energy(course, from, until);
    source.tick_aligned = energy && course.info.kind == SourceKind::kEnergyCounter;
    source.energy = energy.value_or(Energy::missing(course.info.id, course.info.boundary));
    if (!energy) {
      source.notes.push_back(
          fmt::format("what it drew in these {} is not known: it was not watched from before the "
                      "beginning until after the end",
                      to_text(measurement.duration, 3)));
    }
    const auto seen =
        std::find_if(around.sources.begin(), around.sources.end(),
                     [&](const SourceMeasurement& one) { return one.info.id == course.info.id; });
    if (seen != around.sources.end())
      take_over(*seen, around.duration, measurement.duration, source);
    measurement.sources.push_back(std::move(source));
  }
  return measurement;
}

}  // namespace perjoule
