// How many servers each pool needs for the load that is expected, and which part of a class's load
// goes to a larger pool: the slow controller (DynamoLLM's ScaleInst).
//
//   const InstancePlan plan = plan_instances(expected, per_server);
//   plan.servers[p];        // whole servers of pool p
//   plan.spill[p];          // where a part of its requests goes
//
// A pool gets the whole servers that its load fills. The rest would leave a server partly idle, so
// it goes to a larger pool, one whose class is no shorter in either length, and only the last one
// is rounded up.
#pragma once

#include <array>
#include <optional>

#include "fleet/traffic/class_load.h"
#include "fleet/traffic/load_class.h"

namespace perjoule {

struct Spill {
  std::size_t to = 0;
  double share = 0;  ///< of the class's requests
};

struct InstancePlan {
  std::array<int, kLoadClasses> servers = {};
  std::array<std::optional<Spill>, kLoadClasses> spill = {};
  /// Servers' worth of load by pool, what came from smaller pools among it.
  std::array<double, kLoadClasses> filled = {};
  int total() const;
};

/// Brings a plan down to so many servers: the pools of the shortest requests lose theirs first, and
/// what they carried goes up. O(servers).
void limit_servers(InstancePlan& plan, int most);

/// A number of servers as one, at most a million: nobody has more.
int whole_servers(double servers);

/// `per_server` is the load of each class that one server sustains; 0 where it cannot, and such a
/// class goes to a larger pool whole, or, the largest, gets the servers that its tokens would need
/// of the best class. `mixed` is what a server sustains of all classes together, 0 for no less than
/// of each: what shares a pool with others is reckoned at no more. O(classes^2).
InstancePlan plan_instances(const ClassLoads& expected, const ClassLoads& per_server, double mixed);

}  // namespace perjoule
