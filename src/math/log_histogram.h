// A histogram whose bins are a constant share of the value wide, for latencies of any number.
//
//   LogHistogram gaps;
//   gaps.add(step_seconds, running);       // as often as there are running requests
//   gaps.percentile(99);
//
// The idea is HdrHistogram's (Tene): the bits of a double are its exponent and then its mantissa,
// so that their leading ones number the bins. A percentile is the middle of its bin, at most 0.4 %
// from the value.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace perjoule {

class LogHistogram {
 public:
  /// Half of a bin's width over its value: how far a percentile may be off, relatively.
  static constexpr double kHalfWidth = 1.0 / 256;

  /// `value` not below 0 and not NaN; what is below 1e-9 counts as 0. O(1).
  void add(double value, std::uint64_t count = 1) {
    if (count == 0) return;
    count_ += count;
    sum_ += value * static_cast<double>(count);
    if (!(value >= kLeast)) {
      zeros_ += count;
      return;
    }
    const std::size_t bin = bin_of(value);
    if (bin >= bins_.size()) bins_.resize(bin + 1);
    bins_[bin] += count;
  }
  void add(const LogHistogram& other);

  std::uint64_t count() const { return count_; }
  double sum() const { return sum_; }
  /// NaN where there is none.
  double mean() const;
  /// The value that `percent` of all do not exceed (nearest rank), NaN where there is none.
  /// O(bins).
  double percentile(double percent) const;
  /// The share that is at most `value`, exact to the bin it lies in; NaN where there is none.
  double share_up_to(double value) const;

 private:
  static constexpr double kLeast = 1e-9;
  static constexpr int kMantissaBits = 7;
  static constexpr int kShift = 52 - kMantissaBits;

  static std::size_t bin_of(double value) {
    constexpr std::uint64_t kFirst = std::bit_cast<std::uint64_t>(kLeast) >> kShift;
    return static_cast<std::size_t>((std::bit_cast<std::uint64_t>(value) >> kShift) - kFirst);
  }

  std::vector<std::uint64_t> bins_;
  std::uint64_t zeros_ = 0;
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

}  // namespace perjoule
