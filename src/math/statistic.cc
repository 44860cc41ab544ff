#include "math/statistic.h"

#include <cmath>

namespace perjoule {

Statistic statistic(const std::vector<double>& values) {
  Statistic result;
  if (values.empty()) return result;
  const auto n = static_cast<double>(values.size());
  for (const double value : values) result.mean += value / n;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  if (n > 1) result.error = std::sqrt(squares / (n - 1) / n);
  return result;
}

}  // namespace perjoule
