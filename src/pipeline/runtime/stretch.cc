#include "pipeline/runtime/stretch.h"

#include <algorithm>

#include "math/statistic.h"
#include "meter/uncertainty.h"

namespace perjoule {
namespace {

// Of the power between two ticks around the end of an iteration, relative: work on one side of it,
// waiting on the other.
constexpr double kPowerSpread = 0.3;
constexpr std::size_t kLastTimes = 32;

AlignedEdge edge_of(const CounterCourse::Around& around, const CounterTick& tick, Seconds slip) {
  const Watts power = around.power();
  return {tick.gap, slip, power, power * kPowerSpread};
}

}  // namespace

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

void RankStretch::add(const IterationReport& report, const CounterCourse& course) {
  // The end before this one: a counter tells an end only some ticks later.
  look_again(course);
  ++iterations_;
  time_ += report.end - report.begin;
  const double took = (report.end - report.begin).value();
  if (last_times_.size() < kLastTimes) {
    last_times_.push_back(took);
  } else {
    last_times_[static_cast<std::size_t>(iterations_ - 1) % kLastTimes] = took;
  }
  // Nobody knows what was drawn before the counter's first tick.
  if (!begin_ && course.begins_before(report.begin)) begin_ = report.begin;
  if (!begin_) return;
  ++counted_;
  end_ = report.end;
  look_again(course);
}

Seconds RankStretch::median_time() const { return Seconds(median(last_times_)); }

void RankStretch::look_again(const CounterCourse& course) {
  if (!begin_) return;
  if (!at_begin_) at_begin_ = course.around(*begin_);
  if (!at_begin_ || told_ == counted_) return;
  if (const auto around = course.around(end_)) {
    at_end_ = around;
    told_end_ = end_;
    told_ = counted_;
  }
}

std::optional<Seconds> RankStretch::waits_for() const {
  if (begin_ && !at_begin_) return begin_;
  if (told_ < counted_) return end_;
  return std::nullopt;
}

Energy RankStretch::mean_energy(const SourceInfo& counter) const {
  if (!at_begin_ || !at_end_) return Energy::missing(counter.id, counter.boundary);
  WindowFacts facts;
  facts.difference = at_end_->after.energy - at_begin_->before.energy;
  facts.duration = told_end_ - *begin_;
  facts.aligned_begin = edge_of(*at_begin_, at_begin_->before, *begin_ - at_begin_->before.at);
  facts.aligned_end = edge_of(*at_end_, at_end_->after, at_end_->after.at - told_end_);
  return to_energy(counter, estimate_energy(counter, facts)) / static_cast<double>(told_);
}

}  // namespace perjoule
