#include "meter/timeline.h"

#include <algorithm>

namespace perjoule {

Timeline::Timeline(std::size_t capacity) : capacity_(std::max<std::size_t>(capacity, 4)) {
  times_.reserve(capacity_);
  totals_.reserve(capacity_);
}

void Timeline::clear() noexcept {
  times_.clear();
  totals_.clear();
  thinnings_ = 0;
  skip_ = 0;
  last_is_provisional_ = false;
  missed_ = 0;
}

void Timeline::add(Instant at, std::uint64_t total_micro) noexcept {
  // The newest sample is always the last entry; one that the thinning would leave out is
  // provisional and overwritten by its successor, so that the edge is never lost.
  if (last_is_provisional_) {
    times_.pop_back();
    totals_.pop_back();
  }
  if (times_.size() == capacity_) thin();
  times_.push_back(at.ns);
  totals_.push_back(total_micro);
  if (skip_ > 0) {
    --skip_;
    last_is_provisional_ = true;
  } else {
    skip_ = (std::uint64_t{1} << thinnings_) - 1;
    last_is_provisional_ = false;
  }
}

void Timeline::thin() noexcept {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < times_.size(); i += 2) {
    times_[kept] = times_[i];
    totals_[kept++] = totals_[i];
  }
  times_.resize(kept);
  totals_.resize(kept);
  ++thinnings_;
}

Watts Timeline::power(std::size_t i) const {
  const double ns = static_cast<double>(times_[i + 1] - times_[i]);
  if (ns <= 0) return Watts(0);
  // Signed: a calibration's negative offset can let a total fall.
  const auto step = static_cast<std::int64_t>(totals_[i + 1] - totals_[i]);
  return Watts(static_cast<double>(step) * 1e3 / ns);
}

std::vector<float> Timeline::even_power(Seconds dt) const {
  std::vector<float> watts;
  if (size() < 2 || dt.value() <= 0) return watts;
  const double step = dt.value() * 1e9;
  const double span = static_cast<double>(times_.back() - times_.front());
  const auto steps = static_cast<std::size_t>(std::min(span / step, 1e8));
  std::size_t i = 0;
  // Accumulated energy at `when`, linear between samples; `when` only grows.
  const auto total_at = [&](double when) {
    while (i + 2 < size() && static_cast<double>(times_[i + 1] - times_.front()) < when) ++i;
    const double from = static_cast<double>(times_[i] - times_.front());
    const double to = static_cast<double>(times_[i + 1] - times_.front());
    const double share = to > from ? (when - from) / (to - from) : 1;
    return static_cast<double>(totals_[i]) +
           share * static_cast<double>(static_cast<std::int64_t>(totals_[i + 1] - totals_[i]));
  };
  double before = total_at(0);
  for (std::size_t k = 1; k <= steps; ++k) {
    const double after = total_at(static_cast<double>(k) * step);
    watts.push_back(static_cast<float>((after - before) * 1e3 / step));
    before = after;
  }
  return watts;
}

}  // namespace perjoule
