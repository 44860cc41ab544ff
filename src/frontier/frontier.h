// Operating points and the time-energy frontier they span.
//
//   PJ_TRY(const Frontier frontier, Frontier::make(std::move(points)));
//   for (const std::size_t i : frontier.indices()) show(frontier.points()[i]);
//   PJ_TRY(const Choice choice, frontier.choose(Deadline{Seconds(0.05)}));
//   if (choice.miss) ...                                  // nothing is that quick
//
// Dominance is strict: a point leaves the frontier only if another one is strictly lower in time
// and strictly lower in energy. Points that tie on one axis all stay; two equal points both stay.
//
// choose() looks at every candidate and not only at the frontier, because not every rule is
// monotone along it: a slower point that uses more energy than another may still be the only one
// below a limit of power, or the one of the lowest setting. For all other rules the answer lies on
// the frontier. Ties go to the faster point, then to the more frugal one, then to the first; so the
// order of input never changes what is chosen, only which of two equal points is named.
//
// A point whose energy is missing, or known on one side only (a lower bound looks frugal for having
// been unseen), is kept in points() and is never a candidate.
#pragma once

#include <cstddef>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "frontier/rule.h"

namespace perjoule {

class Frontier {
 public:
  /// O(n log n). Fails with invalid_argument when there is no candidate, or when a time is not
  /// above zero, an energy is below zero or either is not finite; the message names the point by
  /// its settings and origin.
  static Result<Frontier> make(std::vector<Point> points);

  const std::vector<Point>& points() const { return points_; }
  /// The points no other dominates, as indices into points(), ordered by time, then energy, then
  /// input. Never empty.
  const std::vector<std::size_t>& indices() const { return indices_; }
  /// Index of the fastest point, of those the one with least energy: the baseline of every choice.
  std::size_t fastest() const { return indices_.front(); }
  /// Points that have an energy to choose by.
  std::size_t candidates() const { return candidates_; }

  /// Applies the rule; a bound of time is met within doubt_of(). O(n), except MaxSlowdown by
  /// setting, which reads n settings. What no point can meet is an answer, not an error: feasible
  /// is 0 and `miss` tells the nearest point and by how much it misses. Fails with invalid_argument
  /// when the rule names a setting that is not numeric at every candidate.
  Result<Choice> choose(const Rule& rule) const;

 private:
  Frontier() = default;
  std::vector<Point> points_;
  std::vector<std::size_t> indices_;
  std::size_t candidates_ = 0;
};

/// How far above a bound of time a time may lie that is known to one standard error `sigma` beside
/// that bound, and still meet it: two of them, but no more than a hundredth of the bound. What is
/// above by less was measured as much below as above it; what is above by more breaks it. Without a
/// known error bounds are strict.
Seconds doubt_of(Seconds bound, Seconds sigma);

/// Whether the point has an energy to choose by: one that is there and is no mere bound.
bool is_candidate(const Point& point);

/// Power drawn while working at the point: energy x rate where the rate is known (work that is
/// batched), else energy / time. W.
Watts mean_power(const Point& point);

/// The setting's number, when the value is a number with at most a unit behind it ("300 W", "0.5"),
/// not a word that begins with one ("8bit-v2", "2024-11-03").
std::optional<double> numeric_setting(const Config& config, std::string_view name);

}  // namespace perjoule
