#include "pipeline/runtime/rank_report.h"

#include <fmt/format.h>

#include <cmath>

namespace perjoule {
namespace {

/// Of sums and differences of moments, and of a caller's clock.
constexpr double kSlack = 1e-3;
// Beyond these no training is meant, and sums of squares of figures lose their meaning or become
// infinite: eleven days, thirty thousand years, and what the world's largest power station makes of
// energy in as many days.
constexpr double kLongestIteration = 1e6;
constexpr double kLastMoment = 1e12;
constexpr double kMostEnergy = 1e16;
/// W: between two ticks; looks that come late can make it much more than a device draws.
constexpr double kMostPower = 1e9;

bool is_moment(Seconds at) { return std::abs(at.value()) <= kLastMoment; }

/// Within the iteration, or not run at all.
bool is_instruction(const IterationReport& report, std::size_t i) {
  const double start = report.start[i].value();
  const double took = report.took[i].value();
  if (std::isnan(start) && std::isnan(took)) return true;
  return start >= report.begin.value() - kSlack && took >= 0 &&
         start + took <= report.end.value() + kSlack;
}

bool is_tick(const CounterTick& tick) {
  return is_moment(tick.at) && tick.gap.value() >= 0 && tick.gap.value() <= kLongestIteration &&
         std::abs(tick.energy.value()) <= kMostEnergy;
}

bool is_next(const CounterTick& before, const CounterTick& tick) {
  const double passed = (tick.at - before.at).value();
  const double drawn = (tick.energy - before.energy).value();
  return passed > 0 && drawn >= 0 && drawn <= kMostPower * passed;
}

}  // namespace

Outcome check_report(const IterationReport& report, std::size_t instructions) {
  if (report.start.size() != instructions || report.took.size() != instructions) {
    return Error::invalid_argument(fmt::format(
        "a report of {} instructions, where the stage has {}", report.start.size(), instructions));
  }
  if (!is_moment(report.begin) || !is_moment(report.end) || report.end < report.begin ||
      (report.end - report.begin).value() > kLongestIteration) {
    return Error::invalid_argument(fmt::format("a report of an iteration from {} s to {} s",
                                               report.begin.value(), report.end.value()));
  }
  for (std::size_t i = 0; i < instructions; ++i) {
    if (is_instruction(report, i)) continue;
    return Error::invalid_argument(
        fmt::format("a report whose instruction {} takes {} s from {} s on, in an iteration from "
                    "{} s to {} s",
                    i, report.took[i].value(), report.start[i].value(), report.begin.value(),
                    report.end.value()));
  }
  for (std::size_t i = 0; i < report.ticks.size(); ++i) {
    const CounterTick& tick = report.ticks[i];
    if (is_tick(tick) && (i == 0 || is_next(report.ticks[i - 1], tick))) continue;
    return Error::invalid_argument(fmt::format("a report whose counter shows {} J at {} s",
                                               tick.energy.value(), tick.at.value()),
                                   "moments and energies rise from tick to tick");
  }
  return {};
}

}  // namespace perjoule
