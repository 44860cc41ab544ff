#include "workload/sample_summary.h"

#include <algorithm>
#include <cmath>

namespace perjoule {
namespace {

/// Of sorted values, linear between neighbours. O(1).
Seconds percentile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return Seconds(sorted[below] + (at - std::floor(at)) * (sorted[above] - sorted[below]));
}

}  // namespace

LatencySummary summary_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const double value : values) sum += value;
  return {Seconds(sum / static_cast<double>(values.size())), percentile(values, 0.5),
          percentile(values, 0.9), percentile(values, 0.95), percentile(values, 0.99)};
}

LengthHistogram histogram_of(const std::vector<double>& lengths) {
  constexpr std::size_t kBins = 50;
  const auto [low, high] = std::minmax_element(lengths.begin(), lengths.end());
  const double width = (*high > *low ? *high - *low : 1) / static_cast<double>(kBins);
  LengthHistogram histogram;
  for (std::size_t i = 0; i <= kBins; ++i)
    histogram.edges.push_back(*low + static_cast<double>(i) * width);
  histogram.counts.resize(kBins);
  for (const double length : lengths) {
    const auto bin = static_cast<std::size_t>((length - *low) / width);
    histogram.counts[std::min(bin, kBins - 1)] += 1;
  }
  return histogram;
}

}  // namespace perjoule
