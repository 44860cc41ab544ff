#include "math/stationary.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace perjoule {

std::size_t warm_up_length(std::span<const double> values) {
  constexpr double kAlike = 1.25;
  std::vector<double> errors(values.size() / 2 + 1);  // of the mean, squared, by what is left out
  // From the last value backwards, so that each mean and sum of squares comes of the one before
  // (Welford).
  double mean = 0;
  double squares = 0;
  for (std::size_t kept = 1; kept <= values.size(); ++kept) {
    const double value = values[values.size() - kept];
    const double apart = value - mean;
    const auto n = static_cast<double>(kept);
    mean += apart / n;
    squares += apart * (value - mean);
    const double none = 1e-3 * mean;
    if (values.size() - kept < errors.size())
      errors[values.size() - kept] = (squares + n * none * none) / (n * n);
  }
  const double least = *std::min_element(errors.begin(), errors.end());
  const auto found = std::find_if(errors.begin(), errors.end(),
                                  [least](double error) { return error <= kAlike * least; });
  return static_cast<std::size_t>(found - errors.begin());
}

double kpss_statistic(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / n;
  std::vector<double> apart;
  double partial = 0;
  double partial_squares = 0;
  double variance = 0;
  for (const double value : values) {
    apart.push_back(value - mean);
    partial += apart.back();
    partial_squares += partial * partial;
    variance += apart.back() * apart.back() / n;
  }
  const auto lags = static_cast<std::size_t>(4 * std::pow(n / 100, 0.25));
  for (std::size_t lag = 1; lag <= lags && lag < values.size(); ++lag) {
    double covariance = 0;
    for (std::size_t i = lag; i < values.size(); ++i) covariance += apart[i] * apart[i - lag] / n;
    variance += 2 * (1 - static_cast<double>(lag) / static_cast<double>(lags + 1)) * covariance;
  }
  // What rounding alone leaves is no variation.
  if (variance <= 1e-24 * mean * mean) return 0;
  return partial_squares / (n * n * variance);
}

}  // namespace perjoule
