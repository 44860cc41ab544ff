#include "fleet/plan/server_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "fleet/plan/clock_choice.h"

namespace perjoule {
namespace {

/// The part of a stretch, from 0 to 1, on which a latency that runs from `a` to `b` is allowed.
struct Part {
  double from = 0;
  double to = 1;

  void cut(double a, double b, double most) {
    if (std::isnan(a) || std::isnan(b)) {
      from = 1;
      to = 0;
      return;
    }
    if (a <= most && b <= most) return;
    if (a > most && b > most) {
      from = 1;
      to = 0;
      return;
    }
    const double at = (most - a) / (b - a);
    if (a <= most) {
      to = std::min(to, at);
    } else {
      from = std::max(from, at);
    }
  }
};

/// The highest load of a curve that keeps the target, and is not above `most`.
std::optional<double> highest_of(const ProfileCurve& curve, const LatencyTarget& target,
                                 double most) {
  const std::vector<ServingPoint>& points = curve.points;
  // Below the first point all is as there.
  if (most < points.front().load)
    return meets(points.front(), target) ? std::optional<double>(most) : std::nullopt;
  for (std::size_t i = points.size(); i-- > 0;) {
    if (points[i].load <= most && meets(points[i], target)) return points[i].load;
    if (i == 0) break;
    const ServingPoint& a = points[i - 1];
    if (a.load >= most) continue;
    const ServingPoint& b = points[i];
    Part part;
    part.to = std::min(1.0, (most - a.load) / (b.load - a.load));
    part.cut(a.ttft[target.ttft.statistic].value(), b.ttft[target.ttft.statistic].value(),
             target.ttft.most.value());
    part.cut(a.tbt[target.tbt.statistic].value(), b.tbt[target.tbt.statistic].value(),
             target.tbt.most.value());
    // Where both latencies bind at one load, rounding may put one behind the other.
    if (part.from > part.to + 1e-12) continue;
    // At the crossing, or a hair below it where rounding makes that late.
    for (const double hair : {0.0, 1e-12, 1e-9}) {
      const double load = a.load + (b.load - a.load) * part.to * (1 - hair);
      if (meets(at_load(curve, load).point, target)) return load;
    }
  }
  return std::nullopt;
}

Outcome check_one_model(const ServingProfile& profile) {
  const InstanceLayout& first = profile.curves.front().layout;
  for (const ProfileCurve& curve : profile.curves) {
    if (curve.layout.model != first.model) {
      return Error::invalid_argument(
          fmt::format("the profile is of several models: {}, {}", first.model, curve.layout.model),
          "choose one: --model");
    }
    if (curve.layout.gpu != first.gpu) {
      return Error::invalid_argument(
          fmt::format("the profile is of several GPUs: {}, {}", first.gpu, curve.layout.gpu),
          "choose one: --gpu");
    }
    if (curve.load_class != profile.curves.front().load_class) {
      return Error::invalid_argument("the profile is of several classes of requests",
                                     "choose one: --class");
    }
  }
  return {};
}

}  // namespace

Result<ServerCurves> ServerCurves::make(const ServingProfile& profile,
                                        const LatencyTarget& target) {
  PJ_CHECK(check_profile(profile));
  PJ_CHECK(check_one_model(profile));
  ServerCurves servers;
  servers.target_ = target;
  for (const ProfileCurve& curve : profile.curves)
    servers.gpus_ = std::max(servers.gpus_, curve.layout.gpus());
  const std::vector<bool> highest = at_highest_clock(profile);
  servers.lowest_load_ = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < profile.curves.size(); ++i) {
    const ProfileCurve& curve = profile.curves[i];
    if (servers.gpus_ % curve.layout.gpus() != 0) {
      servers.notes_.push_back(fmt::format("left out: {}: its {} GPUs do not divide a server of {}",
                                           text_of(curve), curve.layout.gpus(), servers.gpus_));
      continue;
    }
    const auto layout = std::find(servers.layouts_.begin(), servers.layouts_.end(), curve.layout);
    servers.layout_of_.push_back(static_cast<std::size_t>(layout - servers.layouts_.begin()));
    if (layout == servers.layouts_.end()) servers.layouts_.push_back(curve.layout);
    servers.curves_.push_back(curve);
    servers.at_highest_.push_back(highest[i]);
    const int instances = servers.gpus_ / curve.layout.gpus();
    servers.lowest_load_ = std::min(servers.lowest_load_, curve.points.front().load * instances);
  }
  return servers;
}

bool ServerCurves::allowed(std::size_t i, const CurveRule& rule) const {
  if (rule.clock == ClockScaling::kHighest && !at_highest_[i]) return false;
  return !rule.layout || layout_of_[i] == *rule.layout;
}

std::optional<ServerUse> ServerCurves::cheapest(double load, const CurveRule& rule) const {
  std::optional<ServerUse> best;
  for (std::size_t i = 0; i < curves_.size(); ++i) {
    if (!allowed(i, rule)) continue;
    const Operating at = at_load(curves_[i], load / instances(i));
    if (at.reach == Reach::kBeyond || (!rule.late && !meets(at.point, target_))) continue;
    const Watts power = at.point.power * instances(i);
    if (!best || power < best->power) best = {i, power, at.reach};
  }
  return best;
}

std::optional<double> ServerCurves::highest_load(const CurveRule& rule, double most) const {
  std::optional<double> highest;
  for (std::size_t i = 0; i < curves_.size(); ++i) {
    if (!allowed(i, rule)) continue;
    const double each = most / instances(i);
    const auto of_one = rule.late
                            ? std::optional<double>(std::min(each, curves_[i].points.back().load))
                            : highest_of(curves_[i], target_, each);
    if (of_one && (!highest || *of_one * instances(i) > *highest)) highest = *of_one * instances(i);
  }
  return highest;
}

std::optional<EqualSplit> best_equal_split(const ServerCurves& servers, double load, int most,
                                           const CurveRule& rule) {
  std::optional<EqualSplit> best;
  for (int n = 1; n <= most; ++n) {
    const auto use = servers.cheapest(load / n, rule);
    if (use && (!best || use->power * n < best->power)) best = EqualSplit{n, *use, use->power * n};
    // From here on each server more draws as much as this one, or more is not to be had.
    if (load / n <= servers.lowest_load()) break;
  }
  return best;
}

int fewest_servers(const ServerCurves& servers, double load, int most, const CurveRule& rule) {
  const auto highest = servers.highest_load(rule);
  if (!highest) return 0;
  // One fewer than the highest load tells, for what rounding does.
  const double first = *highest > 0 ? std::floor(load / *highest) : 1;
  if (!(first <= most)) return 0;
  for (int n = std::max(1, static_cast<int>(first)); n <= most; ++n) {
    if (servers.cheapest(load / n, rule)) return n;
    if (load / n <= servers.lowest_load()) break;
  }
  return 0;
}

}  // namespace perjoule
