#include "math/log_histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace perjoule {

void LogHistogram::add(const LogHistogram& other) {
  if (bins_.size() < other.bins_.size()) bins_.resize(other.bins_.size());
  for (std::size_t i = 0; i < other.bins_.size(); ++i) bins_[i] += other.bins_[i];
  zeros_ += other.zeros_;
  count_ += other.count_;
  sum_ += other.sum_;
}

double LogHistogram::mean() const {
  if (count_ == 0) return std::numeric_limits<double>::quiet_NaN();
  return sum_ / static_cast<double>(count_);
}

double LogHistogram::percentile(double percent) const {
  if (count_ == 0) return std::numeric_limits<double>::quiet_NaN();
  // 99.9 % of 20,000 are 19,980, whatever a double makes of 99.9.
  const double share = std::clamp(percent, 0.0, 100.0) / 100 * (1 - 1e-12);
  const double wanted = std::max(1.0, std::ceil(share * static_cast<double>(count_)));
  auto left = static_cast<std::uint64_t>(wanted);
  if (left <= zeros_) return 0;
  left -= zeros_;
  constexpr std::uint64_t kFirst = std::bit_cast<std::uint64_t>(kLeast) >> kShift;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    if (left > bins_[i]) {
      left -= bins_[i];
      continue;
    }
    const double low = std::bit_cast<double>((kFirst + i) << kShift);
    const double high = std::bit_cast<double>((kFirst + i + 1) << kShift);
    return low + (high - low) / 2;
  }
  return std::numeric_limits<double>::quiet_NaN();  // not reached: the bins add up to the count
}

double LogHistogram::share_up_to(double value) const {
  if (count_ == 0) return std::numeric_limits<double>::quiet_NaN();
  std::uint64_t there = value >= 0 ? zeros_ : 0;
  if (value >= kLeast) {
    const std::size_t end = std::min(bins_.size(), bin_of(value) + 1);
    for (std::size_t i = 0; i < end; ++i) there += bins_[i];
  }
  return static_cast<double>(there) / static_cast<double>(count_);
}

}  // namespace perjoule
