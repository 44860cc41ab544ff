#include "fleet/profile/attainment_estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace perjoule {
namespace {

struct Known {
  double at = 0;  // s
  double missed = 1;
};

/// Share of requests above `most`.
double missed(const LatencyFigures& figures, double most) {
  const double mean = figures[LatencyStatistic::kMean].value();
  std::vector<Known> known{{0, 1}};
  const auto add = [&known](double at, double share) {
    // Statistics that do not rise, as of few requests, say no more than the one before.
    if (at > known.back().at) known.push_back({at, share});
  };
  add(figures[LatencyStatistic::kP90].value(), 0.1);
  add(figures[LatencyStatistic::kP99].value(), 0.01);
  if (known.size() == 1) {
    if (!std::isfinite(mean)) return std::numeric_limits<double>::quiet_NaN();
    return mean > 0 ? std::exp(-most / mean) : 0;
  }
  std::size_t next = 1;
  while (next + 1 < known.size() && known[next].at < most) ++next;
  const Known& a = known[next - 1];
  const Known& b = known[next];
  const double share = (most - a.at) / (b.at - a.at);
  return std::min(1.0, std::exp(std::log(a.missed) + share * std::log(b.missed / a.missed)));
}

}  // namespace

double estimated_attainment(const ServingPoint& point, Seconds most_ttft, Seconds most_tbt) {
  const double met =
      1 - missed(point.ttft, most_ttft.value()) - missed(point.tbt, most_tbt.value());
  return met < 0 ? 0 : met;  // not a number stays none
}

}  // namespace perjoule
