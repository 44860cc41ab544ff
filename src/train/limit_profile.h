// What an epoch of one batch size costs under each power limit, as far as it was measured, and
// which limits to measure next.
//
// Zeus measures all limits in the first epoch of a batch size. Costs under neighbouring batch sizes
// have their minimum at nearly the same limit, so here a batch size that comes after others starts
// at their limit and measures that and its two neighbours only, and goes on towards lower cost for
// as long as the best measured limit is the last one on its side.
#pragma once

#include <optional>
#include <vector>

#include "base/units.h"

namespace perjoule {

class LimitProfile {
 public:
  /// For so many limits, the highest first.
  explicit LimitProfile(std::size_t limits) : costs_(limits) {}

  /// All limits that are not measured yet.
  std::vector<std::size_t> all() const;
  /// The limit `near` and its neighbours, or, once some are measured, what lies beyond the best on
  /// the open side; empty when the best one is known.
  std::vector<std::size_t> around(std::size_t near) const;

  void record(std::size_t limit, Joules epoch_cost) { costs_[limit] = epoch_cost; }
  bool measured(std::size_t limit) const { return costs_[limit].has_value(); }
  Joules cost(std::size_t limit) const { return *costs_[limit]; }
  bool empty() const;
  /// The cheapest measured limit, the higher of two alike; only when not empty.
  std::size_t best() const;

 private:
  std::vector<std::optional<Joules>> costs_;
};

}  // namespace perjoule
