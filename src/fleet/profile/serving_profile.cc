#include "fleet/profile/serving_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

bool is_below_zero(const LatencyFigures& figures) {
  for (std::size_t i = 0; i < kLatencyStatistics; ++i) {
    const double value = figures[static_cast<LatencyStatistic>(i)].value();
    if (value < 0 || std::isinf(value)) return true;
  }
  return false;
}

Outcome check_curve(const ProfileCurve& curve) {
  const auto refuse = [&curve](std::string_view what) -> Outcome {
    return Error::invalid_argument(fmt::format("{}: {}", text_of(curve), what));
  };
  if (curve.points.empty()) return refuse("a curve without points");
  if (curve.layout.tensor_parallel < 1 || curve.layout.pipeline_parallel < 1)
    return refuse("a degree of parallelism below 1");
  if (!(curve.clock_mhz > 0) || std::isinf(curve.clock_mhz)) return refuse("a clock that is none");
  double last = -1;
  for (const ServingPoint& point : curve.points) {
    if (!(point.load >= 0) || std::isinf(point.load)) return refuse("a load that is no number");
    if (!(point.load > last)) return refuse("its loads do not rise");
    last = point.load;
    if (!(point.power.value() > 0) || std::isinf(point.power.value()))
      return refuse(fmt::format("its power at {:g} tokens/s is not above 0", point.load));
    if (is_below_zero(point.ttft) || is_below_zero(point.tbt))
      return refuse(fmt::format("a latency at {:g} tokens/s is below 0 or has no end", point.load));
  }
  return {};
}

}  // namespace

Status less_certain(Status a, Status b) {
  constexpr std::array kByTrust = {Status::kMeasured, Status::kReconstructed, Status::kEstimated,
                                   Status::kSimulated};
  const auto rank = [&](Status status) {
    return std::find(kByTrust.begin(), kByTrust.end(), status) - kByTrust.begin();
  };
  return rank(a) >= rank(b) ? a : b;
}

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

std::string text_of(const ProfileCurve& curve) {
  std::string text = fmt::format("{} on {} {} at {:g} MHz", curve.layout.model, curve.layout.gpu,
                                 text_of(curve.layout), curve.clock_mhz);
  if (!curve.load_class.empty()) text += ", " + curve.load_class;
  return text;
}

Outcome check_profile(const ServingProfile& profile) {
  if (profile.curves.empty()) return Error::invalid_argument("a profile without curves");
  for (const ProfileCurve& curve : profile.curves) PJ_CHECK(check_curve(curve));
  return {};
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
