// Mean and standard error of repeated figures.
#pragma once

#include <vector>

namespace perjoule {

/// Mean and its standard error (0 for one value).
struct Statistic {
  double mean = 0;
  double error = 0;
};
Statistic statistic(const std::vector<double>& values);

}  // namespace perjoule
