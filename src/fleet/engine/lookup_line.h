// A figure by an amount on straight lines between the points of a table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace perjoule {

/// Points by rising x, at least one. Held before the first.
class LookupLine {
 public:
  void add(double x, double y) {
    xs_.push_back(x);
    ys_.push_back(y);
  }
  bool empty() const { return xs_.empty(); }
  double last_x() const { return xs_.back(); }

  /// Beyond the last point held as well: shares and powers. O(log points).
  double held(double x) const noexcept { return x >= xs_.back() ? ys_.back() : extended(x); }
  /// Beyond the last point on the line through the last two, never below the last: times, which go
  /// with the amount. O(log points).
  double extended(double x) const noexcept {
    if (x <= xs_.front() || xs_.size() == 1) return ys_.front();
    const auto next = std::lower_bound(xs_.begin() + 1, xs_.end() - 1, x);
    const auto i = static_cast<std::size_t>(next - xs_.begin());
    const double y = ys_[i - 1] + (ys_[i] - ys_[i - 1]) * (x - xs_[i - 1]) / (xs_[i] - xs_[i - 1]);
    return x > xs_.back() ? std::max(y, ys_.back()) : y;
  }

 private:
  std::vector<double> xs_;
  std::vector<double> ys_;
};

}  // namespace perjoule
