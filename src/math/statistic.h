// Mean and standard error of repeated figures, and their median.
#pragma once

#include <vector>

namespace perjoule {

/// Mean and its standard error (0 for one value).
struct Statistic {
  double mean = 0;
  double error = 0;
};
Statistic statistic(const std::vector<double>& values);

/// The middle one, or the mean of the two in the middle; of at least one value. O(values).
double median(std::vector<double> values);

}  // namespace perjoule
