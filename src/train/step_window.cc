#include "train/step_window.h"

#include <algorithm>
#include <cmath>

namespace perjoule {
namespace {

// Stretches that are judged together, and kept: each holds the energy of every sensor.
constexpr std::size_t kMostStretches = 256;
// More stalls than one in so many, begun ones too, are no stalls.
constexpr std::size_t kOneIn = 5;
// So many stretches say something of how far steps differ.
constexpr std::size_t kLeastStretches = 4;

/// what = a - b, of running totals or amounts alike.
StepTotals difference(const StepTotals& a, const StepTotals& b) {
  StepTotals less{a.time - b.time, a.energy - b.energy, a.steps - b.steps, a.uncertainty};
  // Without each GPU's energy, before as now, there is none of the stretch.
  if (a.gpus.size() != b.gpus.size()) return less;
  for (std::size_t i = 0; i < a.gpus.size(); ++i) less.gpus.push_back(a.gpus[i] - b.gpus[i]);
  return less;
}

StepTotals sum(const StepTotals& a, const StepTotals& b) {
  StepTotals both{a.time + b.time, a.energy + b.energy, a.steps + b.steps, b.uncertainty};
  if (a.gpus.size() != b.gpus.size()) return both;
  for (std::size_t i = 0; i < a.gpus.size(); ++i) both.gpus.push_back(a.gpus[i] + b.gpus[i]);
  return both;
}

}  // namespace

void StepWindow::tell(const StepTotals& now) {
  if (!(now.steps > points_.back().steps)) return;
  if (points_.size() > kMostStretches) {
    const int stalls = this->stalls();
    folded_spread_ = spread();
    folded_ = taken();
    any_folded_ = true;
    stalls_ = stalls;
    points_ = {points_.back()};
    gap_.clear();
  }
  points_.push_back(now);
  gap_.push_back(paused_);
  paused_ = false;
}

std::vector<std::size_t> StepWindow::stalled() const {
  std::vector<double> times;  // of a step, by stretch
  std::vector<double> sorted;
  for (std::size_t i = 0; i < gap_.size(); ++i) {
    times.push_back((points_[i + 1].time - points_[i].time).value() /
                    (points_[i + 1].steps - points_[i].steps));
    if (!gap_[i]) sorted.push_back(times.back());
  }
  if (stall_ == 0 || sorted.size() < 2) return {};
  // The lower one of an even number: of two stretches one may be a stall.
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  std::vector<std::size_t> stalls;
  for (std::size_t i = 0; i < gap_.size(); ++i) {
    if (!gap_[i] && times[i] > stall_ * *middle) stalls.push_back(i);
  }
  if (stalls.size() > (sorted.size() + kOneIn - 1) / kOneIn) stalls.clear();
  return stalls;
}

std::vector<bool> StepWindow::left_out() const {
  std::vector<bool> left_out = gap_;
  for (const std::size_t i : stalled()) left_out[i] = true;
  return left_out;
}

StepWindow::Spread StepWindow::spread() const {
  const StepTotals all = taken();
  Spread spread = folded_spread_;
  if (!(all.steps > 0)) return spread;
  const double mean = all.time.value() / all.steps;
  const std::vector<bool> none = left_out();
  for (std::size_t i = 0; i < none.size(); ++i) {
    if (none[i]) continue;
    const double steps = points_[i + 1].steps - points_[i].steps;
    const double off = (points_[i + 1].time - points_[i].time).value() - steps * mean;
    spread.squares += off * off / steps;
    ++spread.stretches;
  }
  return spread;
}

double StepWindow::time_error() const {
  const Spread spread = this->spread();
  if (spread.stretches < kLeastStretches) return 0;
  const StepTotals all = taken();
  // The variance of one step is that of a stretch over its steps; steps are taken for independent.
  const double variance = spread.squares / static_cast<double>(spread.stretches - 1);
  return std::sqrt(variance / all.steps) / (all.time.value() / all.steps);
}

StepTotals StepWindow::taken() const {
  const std::vector<bool> left_out = this->left_out();
  // Of the whole what is left out is taken off, and not the rest added up: each edge of a stretch
  // has a counter's tick for an error, and the fewest edges the least.
  StepTotals whole = difference(points_.back(), points_.front());
  for (std::size_t i = 0; i < left_out.size(); ++i) {
    if (!left_out[i]) continue;
    std::size_t end = i;
    while (end < left_out.size() && left_out[end]) ++end;
    whole = difference(whole, difference(points_[end], points_[i]));
    i = end;
  }
  whole.uncertainty = points_.back().uncertainty;
  return any_folded_ ? sum(folded_, whole) : whole;
}

}  // namespace perjoule
