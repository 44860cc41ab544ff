// A server of a simulated fleet: its GPUs divided into instances, and what becomes of them when it
// starts, drains, changes its shards and stops.
//
//   Server server(engines, 8);
//   server.start(now, ready_at, shards);      // draws what its GPUs draw at rest, until then
//   server.advance(later);                    // serves from ready_at on
//   server.drain(later, give_up, {});         // takes no more; off when its last request is done
//
// All changes happen at their own instants when the server is advanced past them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/units.h"
#include "fleet/control/shard_plan.h"
#include "fleet/engine/instance.h"

namespace perjoule {

/// What all servers of a fleet share.
struct Engines {
  std::vector<std::shared_ptr<const StepModel>> models;  ///< by layout
  LayoutLimits limits = {};
  LiveRequests* live = nullptr;
  EngineSink* sink = nullptr;
  int gpus_per_server = 8;

  Watts idle_gpu() const;  ///< of one, at the highest clock
};

enum class ServerState : std::uint8_t { kOff, kStarting, kServing, kDraining, kResharding };

/// An instance and its clock that was asked for.
class ServerInstance {
 public:
  ServerInstance(const Engines& engines, std::size_t layout, Seconds now);
  void advance(Seconds until);
  /// Takes effect at `at`.
  void set_clock(std::size_t clock, Seconds at);
  /// The one asked for last.
  std::size_t wanted_clock() const { return wanted_; }
  std::size_t layout() const { return layout_; }
  Instance& engine() { return engine_; }
  const Instance& engine() const { return engine_; }

 private:
  std::size_t layout_;
  Instance engine_;
  std::size_t wanted_;
  std::optional<double> changes_at_;
};

/// What a server used until now.
struct ServerTally {
  Joules busy = {};
  Joules idle = {};
  Joules transition = {};
  Seconds on = {};  ///< in any state but off
  std::int64_t steps = 0;
  std::int64_t preemptions = 0;
};

class Server {
 public:
  explicit Server(const Engines& engines) : engines_(engines) {}

  void advance(Seconds until);
  /// From off, or back from draining: then at once, with the shards that it has.
  void start(Seconds now, Seconds ready_at, const ServerShards& shards);
  /// Takes no more. When its running requests are done, or at `give_up` the latest, it stops, or
  /// starts again with `shards` after `reshard`. Whatever waits or is given up is in `returned`.
  void drain(Seconds now, Seconds give_up, std::optional<ServerShards> shards, Seconds reshard);

  ServerState state() const { return state_; }
  bool serves() const { return state_ == ServerState::kServing; }
  bool is_on() const { return state_ != ServerState::kOff; }
  bool will_stop() const { return state_ == ServerState::kDraining && !next_shards_; }
  const ServerShards& shards() const { return shards_; }
  std::vector<std::unique_ptr<ServerInstance>>& instances() { return instances_; }
  const std::vector<std::unique_ptr<ServerInstance>>& instances() const { return instances_; }
  ServerTally use() const;
  /// Requests that it gave back, for whoever routes; taken by the call.
  std::vector<RequestSlot> take_returned();

 private:
  void rest(double until, Joules& into, int gpus);
  void begin_serving();
  void end_draining();
  int used_gpus() const;

  const Engines& engines_;
  ServerState state_ = ServerState::kOff;
  double now_ = 0;
  double changes_at_ = 0;
  double reshard_ = 0;
  ServerShards shards_;
  std::optional<ServerShards> next_shards_;
  std::vector<std::unique_ptr<ServerInstance>> instances_;
  std::vector<RequestSlot> returned_;
  ServerTally ended_;  ///< of instances that are no more, and of GPUs at rest
};

}  // namespace perjoule
