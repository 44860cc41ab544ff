#include "meter/power_course.h"

#include <algorithm>

#include "meter/measurement.h"

namespace perjoule {
namespace {

// For sources that name neither a tick nor a window.
constexpr Seconds kUsualStep{0.1};

/// A source's energy since its timeline began, at the moments when it changed.
class Energies {
 public:
  explicit Energies(const Timeline& timeline) {
    for (std::size_t i = 0; i < timeline.size(); ++i) {
      const std::uint64_t total = timeline.total_micro(i);
      if (i > 0 && total == last_) continue;
      // What was read first is as old as a tick: unlike the others it did not just change.
      if (i > 0) {
        at_.push_back(timeline.time(i).ns);
        joules_.push_back(static_cast<double>(static_cast<std::int64_t>(total - first_)) * 1e-6);
      } else {
        first_ = total;
      }
      last_ = total;
    }
  }
  bool empty() const { return at_.size() < 2; }
  std::int64_t begin() const { return at_.front(); }
  std::int64_t end() const { return at_.back(); }
  /// Linear between changes; moments must not go back.
  double until(std::int64_t ns) {
    while (next_ + 1 < at_.size() && at_[next_] < ns) ++next_;
    const std::size_t left = next_ - 1;
    const auto span = static_cast<double>(at_[next_] - at_[left]);
    const double share = static_cast<double>(ns - at_[left]) / span;
    return joules_[left] + share * (joules_[next_] - joules_[left]);
  }

 private:
  std::vector<std::int64_t> at_;
  std::vector<double> joules_;
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
  std::size_t next_ = 1;
};

}  // namespace

PowerCourse::PowerCourse(Meter& meter) {
  std::vector<const SourceInfo*> all;
  for (const auto& channel : meter.channels()) all.push_back(&channel->info());
  for (const auto& channel : meter.channels()) {
    const SourceInfo& info = channel->info();
    if (!adds_up(info, all)) continue;
    channels_.push_back(channel.get());
    step_ = std::max({step_, info.tick, info.averaging});
  }
  if (step_.value() <= 0) step_ = kUsualStep;
}

void PowerCourse::restart() {
  for (Channel* channel : channels_) channel->restart_timeline();
}

EvenPower even_power(const std::vector<const Timeline*>& timelines, Seconds step) {
  EvenPower power;
  power.step = step;
  std::vector<Energies> sources;
  for (const Timeline* timeline : timelines) {
    sources.emplace_back(*timeline);
    if (sources.back().empty()) return power;
  }
  if (sources.empty()) return power;
  std::int64_t begin = sources.front().begin();
  std::int64_t end = sources.front().end();
  for (const Energies& source : sources) {
    begin = std::max(begin, source.begin());
    end = std::min(end, source.end());
  }
  power.begin = Instant{begin};
  const auto step_ns = static_cast<std::int64_t>(step.value() * 1e9);
  const auto joules_until = [&](std::int64_t ns) {
    double sum = 0;
    for (Energies& source : sources) sum += source.until(ns);
    return sum;
  };
  double before = joules_until(begin);
  for (std::int64_t at = begin + step_ns; at <= end; at += step_ns) {
    const double after = joules_until(at);
    power.watts.push_back(static_cast<float>((after - before) / step.value()));
    before = after;
  }
  return power;
}

std::vector<float> PowerCourse::watts() const {
  std::vector<std::unique_ptr<Timeline>> copies;
  std::vector<const Timeline*> timelines;
  for (const Channel* channel : channels_) {
    copies.push_back(channel->timeline());
    if (!copies.back()) return {};
    timelines.push_back(copies.back().get());
  }
  return even_power(timelines, step_).watts;
}

}  // namespace perjoule
