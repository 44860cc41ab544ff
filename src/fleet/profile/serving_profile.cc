#include "fleet/profile/serving_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace perjoule {
namespace {

double between(double from, double to, double share) { return from + (to - from) * share; }

LatencyFigures between(const LatencyFigures& from, const LatencyFigures& to, double share) {
  LatencyFigures figures;
  for (std::size_t i = 0; i < kLatencyStatistics; ++i) {
    const auto statistic = static_cast<LatencyStatistic>(i);
    figures[statistic] = Seconds(between(from[statistic].value(), to[statistic].value(), share));
  }
  return figures;
}

}  // namespace

std::string text_of(const InstanceLayout& layout) {
  std::string text = fmt::format("tp{}", layout.tensor_parallel);
  if (layout.pipeline_parallel > 1) text += fmt::format(" pp{}", layout.pipeline_parallel);
  return text;
}

std::string_view name_of(LatencyStatistic statistic) {
  switch (statistic) {
    case LatencyStatistic::kMean:
      return "mean";
    case LatencyStatistic::kP90:
      return "p90";
    case LatencyStatistic::kP99:
      return "p99";
  }
  return "";
}

std::string_view name_of(Reach reach) {
  switch (reach) {
    case Reach::kMeasured:
      return "measured";
    case Reach::kBetween:
      return "between";
    case Reach::kHeld:
      return "held";
    case Reach::kBeyond:
      return "beyond";
  }
  return "";
}

LatencyFigures::LatencyFigures() {
  values_.fill(Seconds(std::numeric_limits<double>::quiet_NaN()));
}

Operating at_load(const ProfileCurve& curve, double load) {
  const std::vector<ServingPoint>& points = curve.points;
  if (points.empty() || !(load <= points.back().load)) return {};
  const auto above = std::lower_bound(
      points.begin(), points.end(), load,
      [](const ServingPoint& point, double wanted) { return point.load < wanted; });
  Operating there{*above, Reach::kMeasured};
  if (above->load == load) return there;
  there.reach = Reach::kHeld;
  if (above != points.begin()) {
    const ServingPoint& below = *(above - 1);
    const double share = (load - below.load) / (above->load - below.load);
    there.reach = Reach::kBetween;
    there.point.power = Watts(between(below.power.value(), above->power.value(), share));
    there.point.ttft = between(below.ttft, above->ttft, share);
    there.point.tbt = between(below.tbt, above->tbt, share);
    there.point.attainment = between(below.attainment, above->attainment, share);
  }
  there.point.load = load;
  return there;
}

bool meets(const ServingPoint& point, const LatencyTarget& target) {
  if (target.least_attainment > 0) return point.attainment >= target.least_attainment;
  return point.ttft[target.ttft.statistic] <= target.ttft.most &&
         point.tbt[target.tbt.statistic] <= target.tbt.most;
}

}  // namespace perjoule
