// Control of a real fleet, a period at a time: readings in, decisions carried out, a line for each
// of them out.
//
//   FleetLoop loop(servers, mind, hands, policy.scales_clocks);
//   every policy.clock_period:
//     for (const FleetEvent& event : loop.step(now, readings)) log(event);
//   loop.end(now);                       // clocks back, servers as they were found
//   while (!loop.is_settled()) for (... : loop.step(now, readings)) log(event);
//
// What fails is told and tried again with the next period: a clock because the controller asks for
// it again, a stop because its server still drains, a start because it is still owed. Nothing of it
// ends the loop.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "fleet/control/fleet_controller.h"
#include "fleet/hands/fleet_event.h"
#include "fleet/hands/fleet_hands.h"
#include "fleet/hands/fleet_servers.h"

namespace perjoule {

/// Who decides: a FleetController in other words, so that tests have their own.
struct FleetMind {
  std::function<Result<FleetOrders>(const FleetView&)> decide;
  /// Prompt tokens a second that an instance of that pool and layout carries in time at a clock.
  std::function<double(std::size_t pool, std::size_t layout, std::size_t clock)> carries;
  std::vector<double> clocks_mhz;  ///< rising
  /// What a pool's servers are counted for since decide() last answered; where it is left out
  /// nobody is told.
  std::function<std::optional<ExpectedLoad>(std::size_t pool)> expects = {};
};

class FleetLoop {
 public:
  /// All must outlive it.
  FleetLoop(FleetServers& servers, const FleetMind& mind, FleetHands& hands, bool sets_clocks);

  /// `now` is a multiple of the clock period, from 0 on. The first readings have no load, so that
  /// nothing is decided on them. O(instances), and what the controller takes.
  std::vector<FleetEvent> step(Seconds now,
                               const std::vector<std::vector<InstanceReading>>& readings);
  /// What has ended since, without a reading.
  std::vector<FleetEvent> poll(Seconds now);

  /// Puts clocks back, and begins to bring servers back to what was found, unless `leaves_servers`.
  /// From then on nothing is decided. The events, and the error of the first clock that stays.
  struct Ending {
    std::vector<FleetEvent> events = {};
    Outcome clocks = {};
  };
  Ending end(Seconds now, bool leaves_servers);
  /// No deed runs, and, after end(), none is left to be begun.
  bool is_settled() const;
  /// Of the last period, by pool; none before a load is known.
  const std::vector<PoolReasons>& reasons() const { return reasons_; }

 private:
  void decide(Seconds now, std::vector<FleetEvent>& events);
  void apply(const ServersOrder& order, Seconds now, std::vector<FleetEvent>& events);
  void apply(const ShardsOrder& order, Seconds now, std::vector<FleetEvent>& events);
  void apply(const ClockOrder& order, Seconds now, std::vector<FleetEvent>& events);
  void apply_spills(const std::vector<std::optional<Spill>>& spills, Seconds now,
                    std::vector<FleetEvent>& events);
  void start_one(std::size_t pool, Seconds now, std::vector<FleetEvent>& events);
  void start(std::size_t server, Seconds now, std::vector<FleetEvent>& events);
  void drain(std::size_t server, Seconds now, FleetEvent::Kind kind, const std::string& text,
             std::vector<FleetEvent>& events);
  void go_on(Seconds now, std::vector<FleetEvent>& events);
  void take_ended(Seconds now, std::vector<FleetEvent>& events);
  void settle_clocks(Seconds now, std::vector<FleetEvent>& events);
  bool set_clock(std::size_t server, std::size_t instance, std::size_t clock, Seconds now,
                 const std::string& text, std::vector<FleetEvent>& events);
  Outcome begin(ServerDeed deed, std::size_t server);
  bool is_back(std::size_t server) const;
  void bring_back(std::size_t server, Seconds now, std::vector<FleetEvent>& events);
  void fail(std::size_t server, ServerDeed deed, const Error& error, Seconds now,
            std::vector<FleetEvent>& events);
  FleetEvent event(FleetEvent::Kind kind, FleetEvent::Result result, Seconds now,
                   std::size_t server, std::string text) const;
  std::string text_of(std::size_t server, const Division& division) const;

  FleetServers& servers_;
  const FleetMind& mind_;
  FleetHands& hands_;
  bool sets_clocks_;
  bool is_ending_ = false;
  std::set<std::size_t> busy_;  ///< servers of which a deed runs
  std::vector<int> owed_;       ///< by pool, servers whose start failed
  std::vector<bool> was_on_;    ///< as it is found, by server
  std::vector<Division> was_divided_;
  std::vector<int> tries_;  ///< by server, that are left to bring it back
  std::set<std::pair<std::size_t, std::size_t>> unset_;  ///< whose GPUs' clock is another's
  std::vector<PoolReasons> reasons_;
  std::vector<std::optional<Spill>> spills_;
};

}  // namespace perjoule
