// What a fleet's controllers may turn in the world: the clocks of an instance's GPUs, and servers.
//
//   PJ_TRY(auto hands, KnobHands::make(machine, journal_folder(), servers, commands, within,
//   clock)); PJ_TRY(const std::string in_force, hands->set_clock(0, 1, 1410));
//   PJ_CHECK(hands->begin(ServerDeed::kStart, 2, {}, division));
//   for (const EndedDeed& deed : hands->ended()) ...      // once a while
//   PJ_CHECK(hands->restore_clocks());
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "device/discovery.h"
#include "device/journal.h"
#include "fleet/hands/command_lines_run.h"
#include "fleet/hands/fleet_layout.h"
#include "fleet/hands/server_commands.h"

namespace perjoule {

struct EndedDeed {
  ServerDeed deed = ServerDeed::kStart;
  std::size_t server = 0;
  Outcome outcome = {};
};

class FleetHands {
 public:
  virtual ~FleetHands() = default;
  /// Whether anything changes by it; otherwise it is only said.
  virtual bool acts() const = 0;
  /// Locks the clock of all GPUs of an instance, both by their place in the fleet, and answers what
  /// is in force, read back. Errors of the knobs; some GPUs may have it by then.
  virtual Result<std::string> set_clock(std::size_t server, std::size_t instance,
                                        double clock_mhz) = 0;
  /// Begins what is told of by ended(), now or later. A server has one deed at a time.
  virtual Outcome begin(ServerDeed deed, std::size_t server, const Division& running,
                        const Division& wanted) = 0;
  /// Those that have ended since the last call. Never waits.
  virtual std::vector<EndedDeed> ended() = 0;
  /// All clocks back to what was found.
  virtual Outcome restore_clocks() = 0;
};

/// The clock knobs of each instance's GPUs, by server and instance.
using ClockKnobs = std::map<std::pair<std::size_t, std::size_t>, std::vector<Knob*>>;
/// not_found where a GPU is none of this machine, not_supported where a clock cannot be locked,
/// conflict where two servers have one GPU. O(instances x GPUs).
Result<ClockKnobs> clock_knobs_of(const Inventory& machine,
                                  const std::vector<FleetServer>& servers);

/// Knobs of this machine, journalled, and commands.
class KnobHands final : public FleetHands {
 public:
  /// With `sets_clocks` errors as clock_knobs_of; without, no clock can be set. Replays what dead
  /// processes left. The machine and the clock must outlive it.
  static Result<std::unique_ptr<KnobHands>> make(const Inventory& machine,
                                                 const std::string& journal,
                                                 const std::vector<FleetServer>& servers,
                                                 const ServerCommands& commands, Seconds within,
                                                 bool sets_clocks, const Clock& clock);

  bool acts() const override { return true; }
  Result<std::string> set_clock(std::size_t server, std::size_t instance,
                                double clock_mhz) override;
  Outcome begin(ServerDeed deed, std::size_t server, const Division& running,
                const Division& wanted) override;
  std::vector<EndedDeed> ended() override;
  Outcome restore_clocks() override { return journal_.restore(); }

  const KnobJournal& journal() const { return journal_; }

 private:
  struct Running {
    ServerDeed deed;
    std::size_t server;
    std::unique_ptr<CommandLinesRun> run;
  };
  KnobHands(KnobJournal journal, std::vector<FleetServer> servers, ServerCommands commands,
            Seconds within, const Clock& clock)
      : journal_(std::move(journal)),
        servers_(std::move(servers)),
        commands_(std::move(commands)),
        within_(within),
        clock_(clock) {}

  KnobJournal journal_;
  std::vector<FleetServer> servers_;
  ServerCommands commands_;
  Seconds within_;
  const Clock& clock_;
  ClockKnobs knobs_;
  std::vector<Running> running_;
};

/// Says what would be done, and does nothing.
class DryHands final : public FleetHands {
 public:
  bool acts() const override { return false; }
  Result<std::string> set_clock(std::size_t server, std::size_t instance,
                                double clock_mhz) override;
  Outcome begin(ServerDeed, std::size_t, const Division&, const Division&) override { return {}; }
  std::vector<EndedDeed> ended() override { return {}; }
  Outcome restore_clocks() override { return {}; }
};

}  // namespace perjoule
