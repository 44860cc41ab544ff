#include "pipeline/runtime/instruction_meter.h"

#include <algorithm>
#include <cmath>

namespace perjoule {
namespace {

/// Cumulated time by kind at moments that only go forward.
class Cumulated {
 public:
  Cumulated(std::span<const InstructionSpan> spans, std::uint32_t waiting, std::uint32_t kinds,
            double begin)
      : spans_(spans), waiting_(waiting), seconds_(kinds), at_(begin) {}

  const std::vector<double>& until(double moment) {
    while (at_ < moment) {
      const bool any = next_ < spans_.size();
      const double begin = any ? spans_[next_].begin.value() : moment;
      if (at_ < begin) {
        pass(waiting_, std::min(begin, moment));
      } else {
        const double end = spans_[next_].end.value();
        pass(spans_[next_].kind, std::min(std::max(end, at_), moment));
        if (end <= at_) ++next_;
      }
    }
    return seconds_;
  }

 private:
  void pass(std::uint32_t kind, double to) {
    seconds_[kind] += to - at_;
    at_ = to;
  }

  std::span<const InstructionSpan> spans_;
  std::uint32_t waiting_;
  std::vector<double> seconds_;
  double at_;
  std::size_t next_ = 0;
};

}  // namespace

InstructionMeter::InstructionMeter(std::uint32_t kinds) : powers_(kinds), times_(kinds) {}

void InstructionMeter::add(std::span<const InstructionSpan> spans, std::uint32_t waiting,
                           std::span<const CounterTick> ticks, Seconds begin, Seconds end) {
  double busy = 0;
  for (const InstructionSpan& span : spans) {
    const double took = (span.end - span.begin).value();
    Times& times = times_[span.kind];
    ++times.count;
    times.sum += took;
    times.squares += took * took;
    busy += took;
  }
  ++times_[waiting].count;
  times_[waiting].sum += std::max(0.0, (end - begin).value() - busy);

  const auto kinds = static_cast<std::uint32_t>(times_.size());
  Cumulated cumulated(spans, waiting, kinds, begin.value());
  std::vector<double> rows;
  std::vector<double> energies;
  double first = 0;
  double last = 0;
  for (const CounterTick& tick : ticks) {
    if (tick.at < begin || tick.at > end) continue;
    if (energies.empty()) first = tick.at.value();
    last = tick.at.value();
    const std::vector<double>& at = cumulated.until(last);
    rows.insert(rows.end(), at.begin(), at.end());
    energies.push_back(tick.energy.value());
    jitter_ += tick.gap.value() / std::sqrt(12);
    ++ticks_;
  }
  if (energies.size() < 2) return;
  energy_ += energies.back() - energies.front();
  covered_ += last - first;
  // Less the first, so that a counter of megajoules leaves the fit its digits.
  const double from = energies.front();
  for (double& energy : energies) energy -= from;
  powers_.add_with_constant(rows, energies);
}

std::vector<InstructionTook> InstructionMeter::solve() const {
  std::vector<InstructionTook> took(times_.size());
  for (std::size_t kind = 0; kind < times_.size(); ++kind) {
    const Times& times = times_[kind];
    took[kind].count = times.count;
    if (times.count == 0) continue;
    const auto count = static_cast<double>(times.count);
    took[kind].time = Seconds(times.sum / count);
    if (times.count < 2) continue;
    const double variance = (times.squares - times.sum * times.sum / count) / (count - 1);
    took[kind].time_spread = Seconds(std::sqrt(std::max(0.0, variance)));
  }
  if (!(covered_ > 0) || !(energy_ > 0)) {
    for (InstructionTook& one : took) one.power_sigma = Watts(INFINITY);
    return took;
  }
  const double mean = energy_ / covered_;
  const double jitter = std::max(jitter_ / static_cast<double>(ticks_), 1e-6);
  const auto solved = powers_.solve({.mean = mean, .sigma = mean}, mean * jitter);
  for (std::size_t kind = 0; kind < took.size(); ++kind) {
    took[kind].power = Watts(std::max(0.0, solved.value[kind]));
    took[kind].power_sigma = Watts(solved.sigma[kind]);
  }
  return took;
}

}  // namespace perjoule
