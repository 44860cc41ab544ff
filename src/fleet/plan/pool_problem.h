// How many instances of which kind, each at which clock and load, serve a load with the least
// power: the pool controller's problem (DynamoLLM, HPCA'25), with the load of every instance of its
// own rather than one for all.
//
//   minimise   sum of p(k,r) n(k,r)          over kinds k and their rows r
//   such that  sum of l(k,r) n(k,r) >= load  what they carry is enough
//              sum over r of n(k,r) <= most(k)
//              sum of gpus(k) n(k,r) <= most_gpus
//              n(k,r) integer, not below 0
//
// A row is a point at which an instance meets the latencies: l its load (prompt tokens/s), p its
// power. An instance that is off draws nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fleet/profile/serving_profile.h"

namespace perjoule {

struct PoolRow {
  double load = 0;  ///< prompt tokens a second
  Watts power = {};
  std::size_t curve = 0;  ///< where it is from, for those who made the problem
};

/// Instances that are alike in what they take.
struct PoolKind {
  std::string name = {};  ///< "A100-SXM4-80GB x8"
  int gpus = 1;           ///< of one instance
  int most = 0;           ///< instances there may be
  std::vector<PoolRow> rows = {};
};

struct PoolProblem {
  std::vector<PoolKind> kinds = {};
  double load = 0;  ///< prompt tokens a second
  std::optional<int> most_gpus = {};
};

/// So many instances of a kind at one row.
struct PoolUse {
  std::size_t kind = 0;
  std::size_t row = 0;
  int count = 0;
  bool operator==(const PoolUse&) const = default;
};

struct PoolPlan {
  bool feasible = false;           ///< the rest means nothing where not
  std::vector<PoolUse> uses = {};  ///< by kind and row
  Watts power = {};
  double capacity = 0;  ///< what the rows carry together, at least the load
  int gpus = 0;
};

/// invalid_argument naming the kind for a load, row or count that is none. O(rows).
Outcome check_problem(const PoolProblem& problem);

/// The plan of these uses, summed in their order.
PoolPlan plan_of_uses(const PoolProblem& problem, std::vector<PoolUse> uses);

/// The most that the kinds can carry, all instances at their highest row; an upper bound where the
/// GPUs are limited. For messages on problems without an answer.
double highest_pool_load(const PoolProblem& problem);

/// A kind for each GPU and number of GPUs of the profile, its rows the measured points that meet
/// the target (loads above 0), whatever layout and clock they are of. `most` is 0 in each.
std::vector<PoolKind> pool_kinds(const ServingProfile& profile, const LatencyTarget& target);

}  // namespace perjoule
