// Mean and standard error of repeated figures, their median and percentiles.
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

/// What that share (0 to 1) of them lies below, of sorted values, at least one; between two order
/// statistics on the line through them: type 7 of Hyndman and Fan (1996), numpy's and R's default.
double percentile(const std::vector<double>& sorted, double share);

}  // namespace perjoule
