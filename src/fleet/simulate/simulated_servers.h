// The servers of a simulated fleet by pool: what the controllers see of them, and doing what they
// order.
//
//   SimulatedServers servers(engines, controller, transitions);
//   servers.begin(beginning);
//   servers.advance(now);
//   PJ_TRY(const FleetOrders orders, controller.decide(servers.view(now, loads)));
//   servers.apply(orders, now);
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fleet/control/fleet_controller.h"
#include "fleet/control/pool_load.h"
#include "fleet/simulate/server.h"

namespace perjoule {

/// How often what was done.
struct ServerChanges {
  std::uint64_t starts = 0;
  std::uint64_t reshards = 0;
  std::uint64_t clocks = 0;
};

class SimulatedServers {
 public:
  /// All must outlive it.
  SimulatedServers(const Engines& engines, const FleetController& controller,
                   const Transitions& transitions);

  /// All of them on at once, at time 0.
  void begin(const FleetController::Beginning& beginning);
  void advance(Seconds now);
  /// `loads` by pool. O(instances).
  FleetView view(Seconds now, const std::vector<PoolLoad>& loads) const;
  void apply(const FleetOrders& orders, Seconds now);
  void set_clock(ServerInstance& one, std::size_t clock, Seconds now);

  /// The instance of a pool that would clear its queue first, among those that serve and that the
  /// request fits; null where there is none. All of the pool are advanced to `now`. O(instances).
  ServerInstance* choose(std::size_t pool, Seconds now, const LiveRequest& request);
  Seconds time_to_clear(std::size_t pool, const ServerInstance& one) const;
  /// Visits every instance of a pool that serves or drains.
  template <typename Visit>
  void for_each(std::size_t pool, const Visit& visit) {
    for (const std::uint32_t id : pools_[pool])
      for (const auto& one : all_[id]->instances()) visit(*one);
  }
  /// What draining servers gave back since the last call.
  std::vector<RequestSlot> take_returned();
  /// Ends all: what is under way is given up.
  std::vector<RequestSlot> give_up(Seconds now);

  ServerTally use() const;
  int on() const;
  const ServerChanges& changes() const { return changes_; }

 private:
  Server& server_for(std::size_t pool);
  void add(std::size_t pool, int count, Seconds now, Seconds ready_at);
  void remove(std::size_t pool, int count, Seconds now);

  const Engines& engines_;
  const FleetController& controller_;
  Transitions transitions_;
  std::vector<std::unique_ptr<Server>> all_;
  std::vector<std::vector<std::uint32_t>> pools_;  ///< numbers of the servers that are on
  ServerChanges changes_;
};

}  // namespace perjoule
