// Bringing a pool to the servers and shards that a plan wants, one change after another.
#pragma once

#include <memory>
#include <vector>

#include "fleet/simulate/fleet_pool.h"
#include "fleet/simulate/server.h"

namespace perjoule {

class PoolServers {
 public:
  /// `all` are the fleet's; `pool` is number `index` of its pools.
  PoolServers(std::vector<std::unique_ptr<Server>>& all, const Engines& engines, FleetPool& pool,
              std::size_t index, const Transitions& transitions)
      : all_(all), engines_(engines), pool_(pool), index_(index), transitions_(transitions) {}

  /// Those that serve or will.
  int active() const;
  int serving() const;
  /// Instances by layout of those that serve.
  std::vector<int> shards() const;
  /// What those that serve carry at the highest clock.
  double carried() const;

  /// Some more: first those that were about to stop, then any that is off, or a new one while there
  /// are fewer than `most` in the fleet. Those not `started` are put into the pool only. How many
  /// were started.
  int add(int count, int most, Seconds now, Seconds ready_at, bool started) const;
  /// So many less: those that have not begun to serve, then the ones with least to do.
  void remove(int count, Seconds now) const;
  /// Lets one server change to what the instances wanted have in excess of those there are. False
  /// where none needs to, or one is at it.
  bool change_one(const std::vector<int>& wanted, Seconds now) const;

 private:
  std::vector<std::unique_ptr<Server>>& all_;
  const Engines& engines_;
  FleetPool& pool_;
  std::size_t index_;
  const Transitions& transitions_;
};

}  // namespace perjoule
