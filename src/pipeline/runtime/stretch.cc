#include "pipeline/runtime/stretch.h"

#include <algorithm>

#include "math/statistic.h"

namespace perjoule {
namespace {

constexpr std::size_t kLastTimes = 32;

}  // namespace

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
  return energy_between(counter, *at_begin_, *begin_, *at_end_, told_end_) /
         static_cast<double>(told_);
}

}  // namespace perjoule
