// Who takes a request of a simulated fleet, and what becomes of those that wait too long.
//
//   RequestRouter router(servers, controller, policy, live, sink);
//   router.route(slot, now);            // to its pool, or to a larger one
//   router.look_after(now);             // at every tick
//
// A request goes to the pool of its predicted class, or by the plan's share to a larger one; where
// nothing of it serves, to the next larger pool that does. Where the shortest queue there would
// make it late, it is steered to a shorter one of a larger pool. Queues that are late are served
// earliest deadline first, and half of those that are very late go elsewhere. What has no token
// after `squash_after` is given up (squashed).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "fleet/control/fleet_controller.h"
#include "fleet/control/pool_load.h"
#include "fleet/simulate/simulated_servers.h"

namespace perjoule {

class RequestRouter {
 public:
  /// All must outlive it.
  RequestRouter(SimulatedServers& servers, const FleetController& controller,
                const FleetPolicy& policy, LiveRequests& live, EngineSink& sink);

  /// Where parts of pools' requests go, by pool.
  void set_spills(std::vector<std::optional<Spill>> spills);
  void route(RequestSlot slot, Seconds now);
  /// What servers gave back, and what came while nothing served.
  void route_returned(Seconds now);
  void look_after(Seconds now);
  /// Ends what waits for a server, as squashed.
  void give_up(Seconds now);

  std::vector<PoolLoad>& loads() { return loads_; }
  std::uint64_t spilled() const { return spilled_; }
  std::uint64_t steered() const { return steered_; }
  std::uint64_t moved() const { return moved_; }

 private:
  void place(RequestSlot slot, Seconds now, bool is_new);
  std::size_t class_pool(std::uint8_t load_class) const;
  bool may_take(std::size_t pool, std::size_t other) const;
  bool spills_next(std::size_t pool);
  ServerInstance* shortest(RequestSlot slot, std::size_t own, Seconds now);
  void help(std::size_t pool, ServerInstance& one, Seconds now);
  void look_after_outliving(ServerInstance& one, Seconds now);
  void squash_late(ServerInstance& one, Seconds now);
  bool is_given_up(RequestSlot slot, Seconds now) const;

  SimulatedServers& servers_;
  const FleetController& controller_;
  const FleetPolicy& policy_;
  LiveRequests& live_;
  EngineSink& sink_;
  std::vector<std::optional<Spill>> spills_;
  std::vector<double> spill_due_;  ///< by pool: how much of a request is to spill
  std::vector<std::deque<RequestSlot>> backlog_;
  std::vector<PoolLoad> loads_;
  std::uint64_t spilled_ = 0;
  std::uint64_t steered_ = 0;
  std::uint64_t moved_ = 0;
};

}  // namespace perjoule
