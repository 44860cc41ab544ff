// Over how many GPUs the instances of a pool are spread: the middle controller (DynamoLLM's
// ScaleShard), an integer programme (fleet/plan/pool_problem.h) over the loads of the profile.
//
//   const ShardPlan plan = plan_shards(capacity, {.pool_class = 4, .gpus = 16, .load = 5200});
//   plan.instances[layout];
//
// DynamoLLM decides at the highest clock, and lowers it afterwards. Where clocks are scaled, too,
// an instance is taken here at the clock that it will run at: deciding at the highest one first
// can cost more than a tenth (docs/fleet.md).
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "fleet/control/engine_capacity.h"

namespace perjoule {

struct ShardQuestion {
  std::size_t pool_class = kMixedClass;
  int gpus = 0;         ///< of the pool
  double load = 0;      ///< prompt tokens a second
  Watts idle_gpu = {};  ///< of one that has no instance
  bool at_highest_clock = false;
};

struct ShardPlan {
  bool feasible = false;            ///< the load can be carried in time
  std::vector<int> instances = {};  ///< by layout
  Watts power = {};                 ///< of all of the pool's GPUs
};

/// Where the load cannot be carried, the plan is of instances that carry most. Errors of the
/// solver.
Result<ShardPlan> plan_shards(const EngineCapacity& capacity, const ShardQuestion& question);

/// The power of these instances when they share a load by what each can carry, at the clock they
/// would run at (or the highest), idle GPUs among it.
Watts power_of_shards(const EngineCapacity& capacity, const ShardQuestion& question,
                      const std::vector<int>& instances);

/// How one server's GPUs are divided: instances by layout.
using ServerShards = std::vector<int>;
/// The instances of a plan laid out over `servers` servers of `gpus` each, larger ones first, every
/// server's GPUs filled before the next one's; what has no place is left out. Degrees are divisors
/// of `gpus`.
std::vector<ServerShards> lay_out(const EngineCapacity& capacity, std::vector<int> instances,
                                  int servers, int gpus);

}  // namespace perjoule
