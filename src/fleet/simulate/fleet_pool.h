// A pool of a simulated fleet: its servers, what comes to it, and who of it takes a request.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "fleet/control/engine_capacity.h"
#include "fleet/control/fleet_policy.h"
#include "fleet/control/instance_plan.h"
#include "fleet/simulate/server.h"

namespace perjoule {

class FleetPool {
 public:
  FleetPool(std::size_t pool_class, const EngineCapacity& capacity)
      : pool_class_(pool_class), capacity_(capacity) {}

  std::size_t pool_class() const { return pool_class_; }
  const EngineCapacity& capacity() const { return capacity_; }
  std::vector<Server*> servers = {};
  std::vector<int> shards = {};          ///< instances by layout, as planned
  std::optional<Spill> spill = {};       ///< as planned
  std::deque<RequestSlot> backlog = {};  ///< what came while nothing served

  /// True when this request is one of those that go to the larger pool.
  bool spills_next();
  /// The instance that would clear its queue first, among those that fit; null where none serves.
  /// All are advanced to `now`. O(instances).
  ServerInstance* choose(Seconds now, const LiveRequest& request);
  /// Time in which an instance computes the prompts that wait for it.
  Seconds time_to_clear(const ServerInstance& one) const;
  /// What instances of this layout can carry at this clock, tokens a second; where the target is
  /// never met, what the profile ends at.
  double carries(std::size_t layout, std::size_t clock) const;

  void arrived(std::int64_t prompt_tokens) { window_tokens_ += static_cast<double>(prompt_tokens); }
  void ended(bool in_time) { (in_time ? recent_met_ : recent_missed_) += 1; }
  /// Takes up what came since the last call, `length` ago.
  void close_window(Seconds length, double least_attainment);
  /// Prompt tokens a second, of the last minute mostly.
  double load() const { return load_; }
  /// The highest of the last minutes, forgetting.
  double recent_peak() const { return recent_peak_; }
  /// Above 1 where requests were late of late.
  double caution() const { return caution_; }

 private:
  std::size_t pool_class_;
  const EngineCapacity& capacity_;
  double spilled_ = 0;
  double window_tokens_ = 0;
  double load_ = 0;
  double recent_peak_ = 0;
  double recent_met_ = 0;
  double recent_missed_ = 0;
  double caution_ = 1;
};

}  // namespace perjoule
