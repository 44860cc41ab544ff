#include "frontier/interpolate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace perjoule {

namespace {

struct Knot {
  double value;
  const Point* point;
};

/// What follows the number in "300 W".
std::string_view unit_of(std::string_view value) {
  return value.substr(value.find_last_of("0123456789.") + 1);
}

bool same_but_for(const Config& a, const Config& b, std::string_view setting) {
  Config masked = b;
  if (const auto value = a.find(setting)) masked.set(setting, *value);
  return masked == a;
}

/// The strictly undominated part of the frontier, by time, checked to be a curve over the setting.
Result<std::vector<Knot>> knots_of(const Frontier& frontier, std::string_view setting) {
  std::vector<Knot> knots;
  for (const std::size_t i : frontier.indices()) {
    const Point& point = frontier.points()[i];
    // The frontier keeps ties; on a curve they would be a step.
    if (!knots.empty() && !(point.energy.joules < knots.back().point->energy.joules)) continue;
    const auto value = numeric_setting(point.config, setting);
    if (!value) {
      return Error::not_supported(
          fmt::format("setting '{}' is not a number at [{}]", setting, point.config.text()),
          "only a numeric setting has values in between");
    }
    if (!knots.empty()) {
      const Config& first = knots.front().point->config;
      if (!same_but_for(first, point.config, setting)) {
        return Error::not_supported(fmt::format("another setting than '{}' changes: [{}] and [{}]",
                                                setting, first.text(), point.config.text()),
                                    "choose the points so that only this setting differs");
      }
      if (unit_of(*first.find(setting)) != unit_of(*point.config.find(setting)))
        return Error::not_supported(fmt::format("setting '{}' is written in two units", setting));
    }
    knots.push_back(Knot{*value, &point});
  }
  const bool rising = knots.size() > 1 && knots[1].value > knots[0].value;
  for (std::size_t i = 1; i < knots.size(); ++i) {
    if (knots[i].value == knots[i - 1].value || (knots[i].value > knots[i - 1].value) != rising) {
      return Error::not_supported(
          fmt::format("time does not move one way with '{}' along the frontier", setting));
    }
  }
  return knots;
}

Point between(const Knot& a, const Knot& b, double weight, std::string_view setting) {
  if (weight == 0) return *a.point;
  if (weight == 1) return *b.point;
  Point point = *a.point;
  const double value = a.value + weight * (b.value - a.value);
  point.config.set(setting,
                   fmt::format("{:.6g}{}", value, unit_of(*a.point->config.find(setting))));
  point.time = a.point->time * (1 - weight) + b.point->time * weight;
  point.energy = a.point->energy * (1 - weight) + b.point->energy * weight;
  const bool simulated = point.energy.status == Status::kSimulated ||
                         point.energy.mixed_with.contains(Status::kSimulated);
  point.energy.set_status(simulated ? "simulated + estimated" : "estimated");
  point.rate = a.point->rate > 0 && b.point->rate > 0
                   ? a.point->rate * (1 - weight) + b.point->rate * weight
                   : 0;
  point.origin = 0;
  return point;
}

/// Finds the two knots around `wanted` on the axis `axis_of` reads and interpolates.
template <typename F>
Result<Point> find_between(const std::vector<Knot>& knots, double wanted, std::string_view setting,
                           F&& axis_of) {
  if (knots.size() == 1 && axis_of(knots[0]) == wanted) return *knots[0].point;
  for (std::size_t i = 1; i < knots.size(); ++i) {
    const double a = axis_of(knots[i - 1]);
    const double b = axis_of(knots[i]);
    if (wanted < std::min(a, b) || wanted > std::max(a, b)) continue;
    return between(knots[i - 1], knots[i], (wanted - a) / (b - a), setting);
  }
  const auto [low, high] = std::minmax({axis_of(knots.front()), axis_of(knots.back())});
  return Error::out_of_range(
      fmt::format("outside the frontier: {:g} is not in {:g} to {:g}", wanted, low, high),
      "nothing is extrapolated; measure a point there");
}

}  // namespace

Result<Point> interpolate(const Frontier& frontier, std::string_view setting, double value) {
  PJ_TRY(const std::vector<Knot> knots, knots_of(frontier, setting));
  return find_between(knots, value, setting, [](const Knot& knot) { return knot.value; });
}

Result<Point> interpolate_at_time(const Frontier& frontier, std::string_view setting,
                                  Seconds time) {
  PJ_TRY(const std::vector<Knot> knots, knots_of(frontier, setting));
  return find_between(knots, time.value(), setting,
                      [](const Knot& knot) { return knot.point->time.value(); });
}

}  // namespace perjoule
