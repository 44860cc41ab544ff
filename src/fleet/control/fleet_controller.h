// The three controllers of a fleet: how many servers each pool has (30 min), over how many GPUs its
// instances are spread (5 min), at which clock each runs (5 s). They see a FleetView and answer
// FleetOrders; whether these go to a simulation or to real servers, they do not know.
//
//   FleetController controller(policy, setup);
//   PJ_TRY(const FleetOrders first, controller.begin());     // with nothing there yet
//   every policy.clock_period:
//     PJ_TRY(const FleetOrders orders, controller.decide(view));
//
// Servers are counted from the load that is expected (instance_plan.h), and started before the
// period in which they are needed; those that are too many stop when one begins. Shards are chosen
// by the pool problem (shard_plan.h) for the highest load of the last minutes: one server of a pool
// changes at a time, only if what that saves until the next time is more than what it takes, and
// the others can carry the load meanwhile; at once if what is there carries too little. Clocks are
// the ones of least power that carry each instance's share of the load in time, and the highest
// where a queue grows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "fleet/control/engine_capacity.h"
#include "fleet/control/fleet_policy.h"
#include "fleet/control/instance_plan.h"
#include "fleet/control/load_forecast.h"
#include "fleet/control/shard_plan.h"

namespace perjoule {

struct InstanceView {
  std::uint32_t id = 0;  ///< of the server's own numbering
  std::size_t layout = 0;
  std::size_t clock = 0;      ///< asked for last
  double waiting_tokens = 0;  ///< of prompts that are not computed yet
};

struct ServerView {
  std::uint32_t id = 0;
  bool serves = false;
  bool starts = false;       ///< will serve
  bool stops = false;        ///< takes no more, and stops then
  bool reshards = false;     ///< takes no more, or is at it, and serves again then
  std::int64_t running = 0;  ///< requests
  ServerShards shards = {};
  std::vector<InstanceView> instances = {};  ///< of one that serves
};

struct PoolView {
  double load = 0;  ///< prompt tokens a second
  double recent_peak = 0;
  double caution = 1;                    ///< see PoolLoad
  std::vector<ServerView> servers = {};  ///< that are on
};

struct FleetView {
  Seconds now = {};
  std::vector<PoolView> pools = {};  ///< one, or one a class
};

struct ServersOrder {
  std::size_t pool = 0;
  int more = 0;  ///< below 0: so many less
  Seconds ready_at = {};
};
struct ShardsOrder {
  std::size_t pool = 0;
  std::uint32_t server = 0;
  ServerShards shards = {};
};
struct ClockOrder {
  std::size_t pool = 0;
  std::uint32_t server = 0;
  std::uint32_t instance = 0;
  std::size_t clock = 0;
};

struct FleetOrders {
  std::vector<ServersOrder> servers = {};
  std::vector<ShardsOrder> shards = {};
  std::vector<ClockOrder> clocks = {};
  /// Where a part of each pool's requests goes from now on, when it changes.
  std::optional<std::vector<std::optional<Spill>>> spills = {};
};

struct ControllerSetup {
  const EngineCapacity* capacity = nullptr;
  ServiceLevels levels = dynamo_levels();
  Transitions transitions = {};
  int gpus_per_server = 8;
  int most_servers = 1000;
  Watts idle_gpu = {};
  LoadForecast* forecast = nullptr;  ///< of policies that scale instances
  ClassLoads peak = {};              ///< of those that do not: what the servers are to carry
  double peak_of_all = 0;            ///< and of all classes together
};

class FleetController {
 public:
  /// What `setup` points to must outlive it.
  FleetController(const FleetPolicy& policy, const ControllerSetup& setup);

  std::size_t pools() const { return policy_.has_pools ? kLoadClasses : 1; }
  /// The class of a pool.
  std::size_t class_of(std::size_t pool) const { return policy_.has_pools ? pool : kMixedClass; }

  /// Servers of each pool and how each is divided, for a fleet of which nothing is on.
  struct Beginning {
    std::vector<std::vector<ServerShards>> servers;  ///< by pool
    std::vector<std::optional<Spill>> spills;
  };
  Result<Beginning> begin();
  /// For a fleet that is there already: what the period from `now` on takes is started with the
  /// next decision. Without it servers are counted from the first whole period on. Of policies that
  /// scale instances.
  void expect(Seconds now) { current_ = planned_from(now); }
  /// Called every clock period, `now` a multiple of it. Errors of the pool solver. O(instances).
  Result<FleetOrders> decide(const FleetView& view);

  /// What a pool's servers are counted for now; none before the first period, and for policies that
  /// do not scale instances.
  std::optional<ExpectedLoad> expected(std::size_t pool) const;
  /// The first token of a pool's requests is due within that time.
  Seconds due_within(std::size_t pool) const;
  /// What an instance carries in time at a clock, tokens a second; where it is never in time, what
  /// its profile ends at.
  double carries(std::size_t pool, std::size_t layout, std::size_t clock) const;
  Seconds time_to_clear(std::size_t pool, const InstanceView& one) const {
    return Seconds(one.waiting_tokens / carries(pool, one.layout, one.clock));
  }

 private:
  /// The servers of a period, and the loads that they are for.
  struct Planned {
    InstancePlan plan = {};
    std::vector<ExpectedLoad> expected = {};  ///< by pool
  };

  Planned planned_from(Seconds from) const;
  InstancePlan plan(ClassLoads expected) const;
  double per_server(std::size_t pool_class) const;
  ShardQuestion question(std::size_t pool, int servers, double load) const;
  void decide_instances(const FleetView& view, FleetOrders& orders);
  Outcome decide_shards(const FleetView& view, FleetOrders& orders) const;
  void decide_clocks(const FleetView& view, std::size_t pool, FleetOrders& orders) const;
  double carried(std::size_t pool, const PoolView& view) const;
  double spare_above(std::size_t pool, const FleetView& view) const;

  FleetPolicy policy_;
  ControllerSetup setup_;
  const EngineCapacity& capacity_;
  Planned current_;              ///< of this period
  std::optional<Planned> next_;  ///< of the one that servers are started for now
  Seconds next_begins_ = {};
};

/// Whether `now` is a multiple of the period.
bool is_due(Seconds now, Seconds period);

}  // namespace perjoule
