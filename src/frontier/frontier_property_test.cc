// Properties of the frontier and of every rule on random points, against an O(n^2) oracle that is
// written from the definitions alone. Coordinates are small integers, so that ties are common.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "frontier/frontier.h"

namespace perjoule {
namespace {

std::vector<Point> any_points() {
  const auto raw = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(1, 12), rc::gen::inRange(0, 12))));
  std::vector<Point> points;
  for (const auto& [t, e] : raw) {
    Point point;
    point.time = Seconds(t);
    point.energy.joules = Joules(e);
    point.energy.status = Status::kMeasured;
    points.push_back(point);
  }
  return points;
}

Rule any_rule() {
  const double limit = *rc::gen::inRange(1, 14);
  switch (*rc::gen::inRange(0, 7)) {
    case 0:
      return Deadline{Seconds(limit)};
    case 1:
      return EnergyBudget{Joules(limit)};
    case 2:
      return PowerBudget{Watts(limit)};
    case 3:
      return EtaCost{(limit - 1) / 13, std::nullopt};
    case 4:
      return MaxSlowdown{1 + limit / 10, {}};
    case 5:
      return EnergyDelay{limit / 5};
    default:
      return Knee{};
  }
}

double t_of(const Point& point) { return point.time.value(); }
double e_of(const Point& point) { return point.energy.joules.value(); }

RC_GTEST_PROP(FrontierProperty, EqualsBruteForce, ()) {
  const std::vector<Point> points = any_points();
  std::vector<std::size_t> expected;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool dominated = std::any_of(points.begin(), points.end(), [&](const Point& other) {
      return t_of(other) < t_of(points[i]) && e_of(other) < e_of(points[i]);
    });
    if (!dominated) expected.push_back(i);
  }
  std::vector<std::size_t> found = Frontier::make(points)->indices();
  RC_ASSERT(std::is_sorted(found.begin(), found.end(), [&](std::size_t a, std::size_t b) {
    return t_of(points[a]) < t_of(points[b]);
  }));
  std::sort(found.begin(), found.end());
  RC_ASSERT(found == expected);
}

RC_GTEST_PROP(FrontierProperty, OrderOfInputDoesNotMatter, ()) {
  const std::vector<Point> points = any_points();
  std::vector<Point> reversed(points.rbegin(), points.rend());
  const Rule rule = any_rule();
  const Frontier a = *Frontier::make(points);
  const Frontier b = *Frontier::make(reversed);
  RC_ASSERT(a.indices().size() == b.indices().size());
  for (std::size_t i = 0; i < a.indices().size(); ++i) {
    RC_ASSERT(t_of(a.points()[a.indices()[i]]) == t_of(b.points()[b.indices()[i]]));
    RC_ASSERT(e_of(a.points()[a.indices()[i]]) == e_of(b.points()[b.indices()[i]]));
  }
  const Choice x = *a.choose(rule);
  const Choice y = *b.choose(rule);
  RC_ASSERT(x.feasible == y.feasible);
  RC_ASSERT(t_of(a.points()[x.chosen]) == t_of(b.points()[y.chosen]));
  RC_ASSERT(e_of(a.points()[x.chosen]) == e_of(b.points()[y.chosen]));
}

RC_GTEST_PROP(FrontierProperty, ChosenIsFeasibleAndNoWorseThanTheBaseline, ()) {
  const Frontier frontier = *Frontier::make(any_points());
  const double limit = *rc::gen::inRange(1, 14);
  const Point& base = frontier.points()[frontier.fastest()];

  const Choice by_deadline = *frontier.choose(Deadline{Seconds(limit)});
  RC_ASSERT((by_deadline.feasible > 0) == (t_of(base) <= limit));
  const Point& frugal = frontier.points()[by_deadline.chosen];
  if (by_deadline.feasible > 0) {
    RC_ASSERT(t_of(frugal) <= limit);
    RC_ASSERT(e_of(frugal) <= e_of(base));
    RC_ASSERT(by_deadline.energy_saved >= 0);
  } else {
    RC_ASSERT(by_deadline.miss->over > 0);
    RC_ASSERT(t_of(frugal) == t_of(base));
  }
  const Point& cheap = frontier.points()[frontier.choose(EtaCost{0.5, Watts(2)})->chosen];
  RC_ASSERT(0.5 * e_of(cheap) + t_of(cheap) <= 0.5 * e_of(base) + t_of(base));
  const Point& edp = frontier.points()[frontier.choose(EnergyDelay{})->chosen];
  RC_ASSERT(e_of(edp) * t_of(edp) <= e_of(base) * t_of(base));
}

RC_GTEST_PROP(FrontierProperty, LaterDeadlinesNeverCostMore, ()) {
  const Frontier frontier = *Frontier::make(any_points());
  double before = 1e9;
  for (int deadline = 1; deadline < 14; ++deadline) {
    const Choice choice = *frontier.choose(Deadline{Seconds(deadline)});
    if (choice.feasible == 0) continue;
    const double energy = e_of(frontier.points()[choice.chosen]);
    RC_ASSERT(energy <= before);
    before = energy;
  }
}

RC_GTEST_PROP(FrontierProperty, AllButThePowerRuleStayOnTheFrontier, ()) {
  const Frontier frontier = *Frontier::make(any_points());
  const Rule rule = any_rule();
  if (std::holds_alternative<PowerBudget>(rule)) return;
  const Choice choice = *frontier.choose(rule);
  if (choice.feasible == 0) return;
  RC_ASSERT(std::count(frontier.indices().begin(), frontier.indices().end(), choice.chosen) == 1);
}
}  // namespace
}  // namespace perjoule
