#include "frontier/frontier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/text.h"

namespace perjoule {

namespace {

std::string name_of_point(const Point& point, std::size_t index) {
  std::string name = fmt::format("point {}", index + 1);
  if (point.origin != 0) name += fmt::format(" (row {})", point.origin);
  if (!point.config.empty()) name += fmt::format(" [{}]", point.config.text());
  return name;
}

Outcome check(const Point& point, std::size_t index) {
  const double t = point.time.value();
  const double e = point.energy.joules.value();
  if (!(t > 0) || !std::isfinite(t)) {
    return Error::invalid_argument(
        fmt::format("{}: time is not above zero: {} s", name_of_point(point, index), t));
  }
  if (!(e >= 0) || !std::isfinite(e)) {
    return Error::invalid_argument(fmt::format("{}: energy is below zero or not finite: {} J",
                                               name_of_point(point, index), e));
  }
  return {};
}

/// What the points are put in order by, beside one another: sorting a million points by their
/// indices would jump about in hundreds of megabytes.
struct Place {
  Seconds time;
  Joules joules;
  std::size_t index;
  bool operator<(const Place& other) const {
    return std::tie(time, joules, index) < std::tie(other.time, other.joules, other.index);
  }
};

/// Keeps, of places sorted by time then energy, those no strictly faster one undercuts.
std::vector<std::size_t> keep_undominated(const std::vector<Place>& sorted) {
  std::vector<std::size_t> kept;
  Joules least_before(std::numeric_limits<double>::infinity());  // among strictly faster points
  Joules least_so_far = least_before;
  Seconds time(-1);
  for (const Place& place : sorted) {
    if (place.time != time) {
      time = place.time;
      least_before = least_so_far;
    }
    if (!(least_before < place.joules)) kept.push_back(place.index);
    least_so_far = std::min(least_so_far, place.joules);
  }
  return kept;
}

/// Why nothing is left to choose among.
tl::unexpected<Error> no_candidate(const std::vector<Point>& points) {
  const bool bounds = std::any_of(points.begin(), points.end(), [](const Point& point) {
    return point.energy.status != Status::kMissing;
  });
  if (!bounds) return Error::invalid_argument("frontier: no point has an energy");
  return Error::invalid_argument(
      "frontier: no point has an energy to choose by: all there are are lower bounds",
      "measure again; each run's notes say what went unseen");
}

}  // namespace

Seconds doubt_of(Seconds bound, Seconds sigma) {
  constexpr double kStandardErrors = 2;
  constexpr double kMost = 0.01;  // whatever the error: a bound is a bound
  return std::min(kStandardErrors * sigma, kMost * bound);
}

bool is_candidate(const Point& point) {
  return point.energy.status != Status::kMissing && !point.energy.one_sided();
}

Watts mean_power(const Point& point) {
  if (point.rate > 0) return point.energy.joules * Hertz(point.rate);
  return point.energy.joules / point.time;
}

std::optional<double> numeric_setting(const Config& config, std::string_view name) {
  const auto value = config.find(name);
  if (!value) return std::nullopt;
  // A unit is letters only: what holds digits or signs after the number is a name.
  std::string_view text = trim(*value);
  const std::size_t unit = text.find_last_of("0123456789.") + 1;
  const std::string_view tail = trim(text.substr(unit));
  for (const char c : tail) {
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '%')) return std::nullopt;
  }
  return parse_number(trim(text.substr(0, unit)));
}

Result<Frontier> Frontier::make(std::vector<Point> points) {
  Frontier frontier;
  frontier.points_ = std::move(points);
  std::vector<Place> sorted;
  sorted.reserve(frontier.points_.size());
  for (std::size_t i = 0; i < frontier.points_.size(); ++i) {
    if (!is_candidate(frontier.points_[i])) continue;
    const Point& point = frontier.points_[i];
    PJ_CHECK(check(point, i));
    sorted.push_back({point.time, point.energy.joules, i});
  }
  if (sorted.empty()) return no_candidate(frontier.points_);
  std::sort(sorted.begin(), sorted.end());
  frontier.candidates_ = sorted.size();
  frontier.indices_ = keep_undominated(sorted);
  return frontier;
}

namespace {

struct Judgement {
  double cost = 0;         ///< to be least; ties go to the faster, then to the more frugal point
  double constrained = 0;  ///< must not exceed the limit
  double doubt = 0;        ///< by more than this
};
/// A rule made ready for one set of points.
struct Judge {
  const Frontier& frontier;
  std::string quantity = {};  ///< of the limit; empty when the rule has none
  double limit = std::numeric_limits<double>::infinity();
  std::string words = {};
  std::vector<Judgement> judgements = {};  ///< one a point

  template <typename F>
  void each(F&& judge) {
    judgements.reserve(frontier.points().size());
    for (const Point& point : frontier.points()) {
      judgements.push_back(is_candidate(point)
                               ? judge(point, point.time.value(), point.energy.joules.value())
                               : Judgement{});
    }
  }
  const Point& fastest() const { return frontier.points()[frontier.fastest()]; }

  Outcome operator()(const Deadline& rule) {
    quantity = "time";
    limit = rule.at_most.value();
    each([&](const Point& point, double t, double e) {
      return Judgement{e, t, doubt_of(rule.at_most, point.time_random).value()};
    });
    return {};
  }
  Outcome operator()(const EnergyBudget& rule) {
    quantity = "energy";
    limit = rule.at_most.value();
    each([](const Point&, double t, double e) { return Judgement{t, e}; });
    return {};
  }
  Outcome operator()(const PowerBudget& rule) {
    quantity = "power";
    limit = rule.at_most.value();
    each([](const Point& point, double t, double) {
      return Judgement{t, mean_power(point).value()};
    });
    return {};
  }
  Outcome operator()(const EtaCost& rule) {
    EtaCost filled = rule;
    if (!(rule.eta >= 0 && rule.eta <= 1))
      return Error::invalid_argument(fmt::format("eta: not between 0 and 1: {}", rule.eta));
    if (!filled.max_power) filled.max_power = highest_power();
    words = text_of(filled);
    if (!rule.max_power) words += " (the highest mean power of the points)";
    const double pmax = filled.max_power->value();
    each([&](const Point&, double t, double e) {
      return Judgement{rule.eta * e + (1 - rule.eta) * pmax * t, 0};
    });
    return {};
  }
  Outcome operator()(const MaxSlowdown& rule) {
    if (!(rule.factor >= 1))
      return Error::invalid_argument(fmt::format("slowdown: not at least 1: {}", rule.factor));
    quantity = "time";
    if (!rule.setting.empty()) return by_setting(rule);
    limit = rule.factor * fastest().time.value();
    each([&](const Point& point, double t, double e) {
      return Judgement{e, t, beside(fastest(), rule.factor, point)};
    });
    return {};
  }
  Outcome operator()(const EnergyDelay& rule) {
    each([&](const Point&, double t, double e) {
      return Judgement{e * std::pow(t, rule.exponent), 0};
    });
    return {};
  }
  Outcome operator()(const Knee&) {
    const Point* least = &fastest();
    for (const std::size_t i : frontier.indices()) {
      const Point& point = frontier.points()[i];
      if (point.energy.joules < least->energy.joules) least = &point;
    }
    const double t0 = fastest().time.value();
    const double e0 = least->energy.joules.value();
    const double t_range = least->time.value() - t0;
    const double e_range = fastest().energy.joules.value() - e0;
    each([&](const Point&, double t, double e) {
      // With no range on an axis the fastest point is also the one of least energy.
      if (t_range <= 0 || e_range <= 0) return Judgement{t, 0};
      return Judgement{(t - t0) / t_range + (e - e0) / e_range, 0};
    });
    return {};
  }

 private:
  /// The doubt of a point's time beside a bound that was measured itself.
  static double beside(const Point& reference, double factor, const Point& point) {
    const double sigma =
        std::hypot(point.time_random.value(), factor * reference.time_random.value());
    return doubt_of(factor * reference.time, Seconds(sigma)).value();
  }
  Watts highest_power() const {
    Watts highest(0);
    for (const Point& point : frontier.points()) {
      if (is_candidate(point)) highest = std::max(highest, mean_power(point));
    }
    return highest;
  }

  Outcome by_setting(const MaxSlowdown& rule) {
    std::vector<double> values;
    const Point* reference = nullptr;
    double highest = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < frontier.points().size(); ++i) {
      const Point& point = frontier.points()[i];
      if (!is_candidate(point)) continue;
      const auto value = numeric_setting(point.config, rule.setting);
      if (!value) {
        return Error::invalid_argument(
            fmt::format("{}: setting '{}' is not a number", name_of_point(point, i), rule.setting));
      }
      values.push_back(*value);
      if (*value > highest || (*value == highest && point.time < reference->time)) {
        highest = *value;
        reference = &point;
      }
    }
    limit = rule.factor * reference->time.value();
    std::size_t next = 0;
    each([&](const Point& point, double t, double) {
      return Judgement{values[next++], t, beside(*reference, rule.factor, point)};
    });
    return {};
  }
};

Miss nearest_miss(const Frontier& frontier, const Judge& judge) {
  Miss miss;
  miss.quantity = judge.quantity;
  miss.limit = judge.limit;
  miss.reached = std::numeric_limits<double>::infinity();
  double cost = 0;
  for (std::size_t i = 0; i < frontier.points().size(); ++i) {
    if (!is_candidate(frontier.points()[i])) continue;
    const Judgement& here = judge.judgements[i];
    if (std::tuple(here.constrained, here.cost) < std::tuple(miss.reached, cost)) {
      miss.nearest = i;
      miss.reached = here.constrained;
      cost = here.cost;
    }
  }
  miss.over = miss.reached / miss.limit - 1;
  return miss;
}

/// Points of the frontier, those counted once that are equal in time and energy.
std::size_t distinct_on(const Frontier& frontier) {
  std::size_t distinct = 0;
  const Point* last = nullptr;
  for (const std::size_t i : frontier.indices()) {
    const Point& point = frontier.points()[i];
    const bool same =
        last != nullptr && last->time == point.time && last->energy.joules == point.energy.joules;
    distinct += same ? 0 : 1;
    last = &point;
  }
  return distinct;
}

}  // namespace

Result<Choice> Frontier::choose(const Rule& asked) const {
  const bool all_chord = std::holds_alternative<Knee>(asked) && distinct_on(*this) == 2;
  const Rule rule = all_chord ? Rule(EnergyDelay{}) : asked;
  Judge judge{*this};
  judge.words = text_of(rule);
  PJ_CHECK(std::visit(judge, rule));
  Choice choice;
  choice.baseline = fastest();
  choice.rule = judge.words;
  choice.candidates = candidates_;
  if (all_chord) {
    choice.note =
        "a knee needs three points and the frontier has two: the least energy-delay product is "
        "taken";
  }
  const auto rank = [&](std::size_t i) {
    return std::tuple(judge.judgements[i].cost, points_[i].time, points_[i].energy.joules);
  };
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const Judgement& here = judge.judgements[i];
    if (!is_candidate(points_[i]) || here.constrained > judge.limit + here.doubt) continue;
    if (choice.feasible == 0 || rank(i) < rank(choice.chosen)) choice.chosen = i;
    ++choice.feasible;
  }
  if (choice.feasible == 0) {
    choice.miss = nearest_miss(*this, judge);
    choice.chosen = choice.miss->nearest;
  }
  const Judgement& taken = judge.judgements[choice.chosen];
  if (!choice.miss && taken.constrained > judge.limit) {
    choice.note =
        fmt::format("its time is {} above the bound of {}, and not known to better than {}",
                    percent(taken.constrained / judge.limit - 1, 2), to_text(Seconds(judge.limit)),
                    percent(taken.doubt / judge.limit, 2));
  }
  const Point& chosen = points_[choice.chosen];
  const Point& baseline = points_[choice.baseline];
  const double before = baseline.energy.joules.value();
  choice.energy_saved = before > 0 ? 1 - chosen.energy.joules.value() / before : 0;
  choice.slowdown = chosen.time / baseline.time;
  return choice;
}

}  // namespace perjoule
