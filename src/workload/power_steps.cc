#include "workload/power_steps.h"

#include <algorithm>
#include <cmath>

namespace perjoule {
namespace {

double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

std::int64_t median_step(const std::vector<LoggedPower>& samples) {
  std::vector<std::int64_t> steps;
  steps.reserve(samples.size());
  for (std::size_t i = 1; i < samples.size(); ++i)
    steps.push_back(samples[i].at_unix_ns - samples[i - 1].at_unix_ns);
  if (steps.empty()) return 0;
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return *middle;
}

}  // namespace

PowerSteps::PowerSteps(const PowerSeries& series, PowerKind kind) {
  const std::vector<LoggedPower>& samples = series.samples;
  const std::int64_t usual = median_step(samples);
  // A mean speaks of no more time than a step has; a longer one is a hole.
  constexpr std::int64_t kHoleSteps = 3;
  const auto is_hole = [&](std::int64_t step) { return step / kHoleSteps > usual; };
  const auto at = [&](std::size_t i) { return samples[i].at_unix_ns; };
  const auto power = [&](std::size_t i) { return samples[i].power.value(); };
  begin_ = end_ = at(0);
  first_power_ = power(0);
  last_power_ = power(samples.size() - 1);
  if (samples.size() < 2) return;
  if (kind == PowerKind::kMeanBefore) add(at(0) - usual, at(0), power(0), power(0), false);
  if (kind == PowerKind::kMeanAround) add(at(0) - usual / 2, at(0), power(0), power(0), false);
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const std::int64_t step = at(i) - at(i - 1);
    if (kind == PowerKind::kPoint || is_hole(step)) {
      add(at(i - 1), at(i), power(i - 1), power(i), true);
    } else if (kind == PowerKind::kMeanBefore) {
      add(at(i - 1), at(i), power(i), power(i), false);
    } else {
      const std::int64_t middle = at(i - 1) + step / 2;
      add(at(i - 1), middle, power(i - 1), power(i - 1), false);
      add(middle, at(i), power(i), power(i), false);
    }
  }
  const std::size_t last = samples.size() - 1;
  if (kind == PowerKind::kMeanAround)
    add(at(last), at(last) + usual / 2, power(last), power(last), false);
  begin_ = pieces_.front().begin;
  end_ = pieces_.back().end;
}

void PowerSteps::add(std::int64_t begin, std::int64_t end, double p0, double p1, bool line) {
  if (end <= begin) return;
  const double before =
      pieces_.empty()
          ? 0
          : pieces_.back().joules_before + 0.5 * (pieces_.back().p0 + pieces_.back().p1) *
                                               seconds(pieces_.back().end - pieces_.back().begin);
  pieces_.push_back({begin, end, p0, p1, line, before});
}

std::size_t PowerSteps::piece_after(std::int64_t at) const {
  const auto found =
      std::upper_bound(pieces_.begin(), pieces_.end(), at,
                       [](std::int64_t moment, const Piece& piece) { return moment < piece.end; });
  return static_cast<std::size_t>(found - pieces_.begin());
}

double PowerSteps::joules_until(std::int64_t at) const {
  if (at <= begin_) return first_power_ * seconds(at - begin_);
  const std::size_t i = piece_after(at);
  if (i == pieces_.size()) {
    if (pieces_.empty()) return last_power_ * seconds(at - end_);
    const Piece& last = pieces_.back();
    return last.joules_before + 0.5 * (last.p0 + last.p1) * seconds(last.end - last.begin) +
           last_power_ * seconds(at - end_);
  }
  const Piece& piece = pieces_[i];
  const double share = seconds(at - piece.begin) / seconds(piece.end - piece.begin);
  const double here = piece.p0 + (piece.p1 - piece.p0) * share;
  return piece.joules_before + 0.5 * (piece.p0 + here) * seconds(at - piece.begin);
}

Joules PowerSteps::energy(std::int64_t from, std::int64_t until) const {
  return Joules(joules_until(until) - joules_until(from));
}

double PowerSteps::largest_step(std::size_t piece) const {
  double largest = 0;
  const double own = pieces_[piece].p0;
  if (piece > 0) largest = std::abs(own - pieces_[piece - 1].p1);
  if (piece + 1 < pieces_.size())
    largest = std::max(largest, std::abs(own - pieces_[piece + 1].p0));
  return largest;
}

double PowerSteps::sampling_variance(std::int64_t from, std::int64_t until,
                                     const std::vector<PowerGap>& gaps) const {
  double variance = 0;
  for (std::size_t i = piece_after(from); i < pieces_.size() && pieces_[i].begin < until; ++i) {
    const Piece& piece = pieces_[i];
    const std::int64_t begin = std::max(piece.begin, from);
    const std::int64_t end = std::min(piece.end, until);
    const bool told = std::any_of(gaps.begin(), gaps.end(), [&](const PowerGap& gap) {
      return begin >= gap.begin_unix_ns && end <= gap.end_unix_ns;
    });
    const bool cut = begin > piece.begin || end < piece.end;
    if (told || (!piece.line && !cut)) continue;
    const double step = piece.line ? piece.p1 - piece.p0 : largest_step(i);
    // Of a mean that is cut, what lies within and what without are one another's complement.
    const double time = piece.line ? seconds(end - begin)
                                   : std::min(seconds(end - begin),
                                              seconds(piece.end - piece.begin - (end - begin)));
    variance += step * time * step * time / 12;
  }
  return variance;
}

std::vector<PowerGap> PowerSteps::gaps(std::int64_t from, std::int64_t until, Seconds above) const {
  std::vector<PowerGap> found;
  for (std::size_t i = piece_after(from); i < pieces_.size() && pieces_[i].begin < until; ++i) {
    // A mean is of all of its time, however long.
    if (!pieces_[i].line || seconds(pieces_[i].end - pieces_[i].begin) <= above.value()) continue;
    found.push_back({std::max(pieces_[i].begin, from), std::min(pieces_[i].end, until)});
  }
  return found;
}

PowerSteps::Range PowerSteps::range(std::int64_t from, std::int64_t until) const {
  double low = HUGE_VAL;
  double high = -HUGE_VAL;
  for (std::size_t i = piece_after(from); i < pieces_.size() && pieces_[i].begin < until; ++i) {
    low = std::min({low, pieces_[i].p0, pieces_[i].p1});
    high = std::max({high, pieces_[i].p0, pieces_[i].p1});
  }
  if (!(low <= high)) low = high = last_power_;
  return {Watts(low), Watts(high)};
}

}  // namespace perjoule
