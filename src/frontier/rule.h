// The ways to choose one operating point among many. A rule is plain data; Frontier::choose applies
// it.
//
//   PJ_TRY(const Rule rule, parse_rule("deadline", "50ms"));
//   PJ_TRY(const Choice choice, frontier.choose(rule));
//
// Notation: t is the time and E the energy of a unit of work at a point, P its mean power.
//
// | rule          | word       | minimises                  | subject to             |
// | Deadline      | deadline   | E                          | t <= at_most           |
// | EnergyBudget  | budget     | t                          | E <= at_most           |
// | PowerBudget   | power      | t                          | P <= at_most           |
// | EtaCost       | eta        | eta E + (1 - eta) Pmax t   | -                      |
// | MaxSlowdown   | slowdown   | E, or a setting (below)    | t <= factor * t_ref    |
// | EnergyDelay   | edp        | E t^exponent               | -                      |
// | Knee          | knee       | -(1 - t' - e')             | -                      |
//
// EtaCost is the cost of Zeus (You et al., NSDI 2023, eq. 2): eta 0 gives the fastest point, eta 1
// the one of least energy.
//
// MaxSlowdown without a setting takes the least energy among points no slower than `factor` times
// the fastest. With a setting it is Zeus's rule: the lowest value of that setting whose t is at
// most `factor` times the t at the setting's highest value. The two differ where the lowest setting
// that is quick enough is not the one of least energy.
//
// Knee: t and E of the frontier are scaled to [0, 1] between its fastest and its least-energy point
// (t' = (t - tmin) / (tmax - tmin), e' likewise); the knee is the point farthest below the chord
// that joins those two, at distance (1 - t' - e') / sqrt(2). On a frontier without a bulge towards
// the origin that is the fastest point. A knee needs a third point between the two ends: a frontier
// of two is all chord, and both its points lie on it. There the one of the least energy-delay
// product is taken instead, and the choice says so in its note.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "base/units.h"

namespace perjoule {

struct Deadline {
  Seconds at_most;  ///< infinite gives the least energy of all
};
struct EnergyBudget {
  Joules at_most;  ///< infinite gives the fastest point
};
struct PowerBudget {
  Watts at_most;
};
struct EtaCost {
  double eta = 0.5;                     ///< in [0, 1]
  std::optional<Watts> max_power = {};  ///< highest mean power of the points when not given
};
struct MaxSlowdown {
  double factor = 1;         ///< >= 1
  std::string setting = {};  ///< numeric setting to take the lowest of; empty minimises energy
};
struct EnergyDelay {
  double exponent = 1;  ///< >= 0; 2 is the energy-delay-squared product
};
struct Knee {};

using Rule =
    std::variant<Deadline, EnergyBudget, PowerBudget, EtaCost, MaxSlowdown, EnergyDelay, Knee>;

/// The rule of that word with the value a user typed: ("deadline", "50ms"), ("budget", "3 kJ"),
/// ("power", "300W"), ("slowdown", "1.1") or ("slowdown", "10%"), ("eta", "0.5"), ("edp", "") or
/// ("edp", "2"), ("knee", ""). Fails with invalid_argument naming the word and what it wants.
Result<Rule> parse_rule(std::string_view word, std::string_view value);
/// The same from one text: "deadline=50ms", "knee".
Result<Rule> parse_rule(std::string_view text);

/// The rule in words: "least energy, time at most 50.00 ms".
std::string text_of(const Rule& rule);

}  // namespace perjoule
