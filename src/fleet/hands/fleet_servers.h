// The servers of a real fleet and what each is at: off, starting, serving, draining, stopping or
// resharding. Readings of their instances go in, a FleetView for the controllers comes out.
//
//   FleetServers servers(described, levels, policy.least_attainment, limits);
//   const std::vector<FleetNews> news = servers.read(now, readings);   // every period
//   if (servers.is_known()) orders = controller.decide(servers.view(now));
//   servers.set(server, FleetServerState::kDraining, now);                  // what was ordered
//
// The load of a pool is what its instances computed, and what came to wait. An instance whose
// interval is not known (a restart, a look that failed) is taken to have gone on as before, until
// it cannot be reached for kMostMisses looks: then it does not serve, is told of, and is in no
// view, so that nobody orders anything of it. It is back with the first look that reaches it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "fleet/control/fleet_controller.h"
#include "fleet/control/pool_load.h"
#include "fleet/hands/fleet_layout.h"
#include "fleet/hands/instance_reading.h"

namespace perjoule {

enum class FleetServerState : std::uint8_t {
  kOff,
  kStarting,  ///< its command runs, or its instances do not answer yet
  kServing,
  kDraining,    ///< what runs on it is waited for
  kStopping,    ///< its command runs
  kResharding,  ///< its command runs, or its new instances do not answer yet
};
/// "off", "starting", ...
std::string_view name_of(FleetServerState state);

/// Looks in a row that fail before an instance is taken to be lost.
inline constexpr int kMostMisses = 3;

/// Something about a server or instance that its owner should know.
struct FleetNews {
  std::string subject;
  std::string text;
  bool is_trouble = false;
};

class FleetServers {
 public:
  struct Limits {
    std::size_t pools = 1;
    std::size_t layouts = 1;
    std::size_t highest_clock = 0;  ///< what all are taken to run at in the beginning
    double least_attainment = 0.95;
    ServiceLevels levels = dynamo_levels();
    Seconds drain = Seconds(60);           ///< that running requests are waited for
    Seconds start_within = Seconds(1800);  ///< from the command until all instances answer
  };

  FleetServers(std::vector<FleetServer> servers, const Limits& limits);

  std::size_t size() const { return servers_.size(); }
  const FleetServer& described(std::size_t server) const { return servers_[server].described; }
  FleetServerState state(std::size_t server) const { return servers_[server].state; }
  const Division& division(std::size_t server) const { return servers_[server].division; }
  const Division& next_division(std::size_t server) const { return servers_[server].next; }
  std::size_t clock(std::size_t server, std::size_t instance) const {
    return servers_[server].instances[instance].clock;
  }

  /// `readings` are by server and instance, as they were described, those that do not run among
  /// them. Servers that have come up begin to serve; what there is to tell is answered. O(instances
  /// x buckets).
  std::vector<FleetNews> read(Seconds now,
                              const std::vector<std::vector<InstanceReading>>& readings);
  /// Two readings of some instance were had, so that there is a load.
  bool is_known() const { return has_load_; }
  /// Some instance answered the last look.
  bool any_reached() const;
  FleetView view(Seconds now) const;

  /// What was ordered and is begun, or has ended.
  void set(std::size_t server, FleetServerState state, Seconds now);
  void set_next_division(std::size_t server, Division next);
  void take_next_division(std::size_t server);
  void set_clock(std::size_t server, std::size_t instance, std::size_t clock);
  /// Its start failed: others of its pool are tried first.
  void count_failure(std::size_t server) { ++servers_[server].failures; }

  /// One that drains has nothing left to do, or its time is over.
  bool has_drained(std::size_t server, Seconds now) const;
  /// It drains to be divided otherwise, not to stop.
  bool drains_to_reshard(std::size_t server) const {
    return servers_[server].next != servers_[server].division;
  }
  /// Of a pool, the server to start, the one that failed least often; none where none is off.
  std::optional<std::size_t> to_start(std::size_t pool) const;
  /// The one to stop, which has least to do; none where none serves.
  std::optional<std::size_t> to_stop(std::size_t pool) const;
  /// Instances of the server that make these shards; none where it has not got them, or where
  /// they would share a GPU. The first ones in its order that fit. O(instances^2).
  std::optional<Division> division_of(std::size_t server, const ServerShards& shards) const;

 private:
  struct One {
    bool is_alive = false;     ///< reached, and not lost since
    bool was_reached = false;  ///< by the last look
    int misses = 0;
    bool is_told = false;  ///< that it is lost
    std::size_t clock = 0;
    double rate = 0;  ///< prompt tokens a second, of the last interval that is known
    double waiting_tokens = 0;
    double requests = 0;
    double mean_prompt = 0;
  };
  struct State {
    FleetServer described;
    FleetServerState state = FleetServerState::kOff;
    Division division;
    Division next;
    std::vector<One> instances;
    Seconds since = {};
    bool was_silent = true;  ///< while it was off: that it answers again is somebody else's doing
    int failures = 0;
  };

  void read_instance(State& server, std::size_t index, const InstanceReading& reading,
                     std::vector<FleetNews>& news);
  void follow(State& server, Seconds now, std::vector<FleetNews>& news);
  bool any_alive(const State& server) const;
  bool all_reached(const State& server, const Division& division) const;
  double requests_of(const State& server) const;
  bool runs(const State& server, std::size_t instance) const;

  Limits limits_;
  std::vector<State> servers_;
  std::vector<PoolLoad> loads_;
  std::vector<double> met_;  ///< by pool, what no whole request was counted for yet
  bool is_known_ = false;    ///< the rate of some instance
  bool has_load_ = false;
  bool was_read_ = false;
  Seconds last_read_ = {};
};

}  // namespace perjoule
