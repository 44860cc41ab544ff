#include "fleet/hands/fleet_hands.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/selection.h"

namespace perjoule {

namespace {

Result<std::vector<Knob*>> clock_knobs(const Inventory& machine,
                                       const std::vector<DeviceInfo>& infos,
                                       const FleetInstance& instance) {
  const auto chosen = select_devices(infos, instance.gpus,
                                     visible_devices(infos, VisibleVariables::from_environment()));
  if (!chosen) return fail(chosen, "instance " + instance.name);
  std::vector<Knob*> knobs;
  for (const std::string& id : chosen->devices) {
    const std::vector<Knob*> all = machine.find_device(id)->knobs();
    const auto clock = std::find_if(all.begin(), all.end(),
                                    [](Knob* knob) { return knob->info().name == "clock"; });
    if (clock == all.end()) {
      return Error::not_supported(
          fmt::format("instance {}: the clock of {} cannot be locked", instance.name, id),
          "see perjoule doctor, or take a policy that scales no clocks");
    }
    knobs.push_back(*clock);
  }
  return knobs;
}

}  // namespace

Result<ClockKnobs> clock_knobs_of(const Inventory& machine,
                                  const std::vector<FleetServer>& servers) {
  std::vector<DeviceInfo> infos;
  for (const auto& device : machine.devices) infos.push_back(device->info());
  ClockKnobs all;
  std::map<Knob*, std::size_t> owners;
  for (std::size_t s = 0; s < servers.size(); ++s) {
    for (std::size_t i = 0; i < servers[s].instances.size(); ++i) {
      PJ_TRY(std::vector<Knob*> knobs, clock_knobs(machine, infos, servers[s].instances[i]));
      for (Knob* const knob : knobs) {
        const std::size_t owner = owners.emplace(knob, s).first->second;
        if (owner == s) continue;
        return Error::conflict(
            fmt::format("servers {} and {} have one GPU: {}", servers[owner].name, servers[s].name,
                        knob->info().device),
            "a clock is one server's to set; GPUs of other machines are set by "
            "a control that runs there");
      }
      all[std::pair(s, i)] = std::move(knobs);
    }
  }
  return all;
}

Result<std::unique_ptr<KnobHands>> KnobHands::make(const Inventory& machine,
                                                   const std::string& journal,
                                                   const std::vector<FleetServer>& servers,
                                                   const ServerCommands& commands, Seconds within,
                                                   bool sets_clocks, const Clock& clock) {
  PJ_TRY(KnobJournal opened, KnobJournal::open(journal, machine));
  std::unique_ptr<KnobHands> hands(
      new KnobHands(std::move(opened), servers, commands, within, clock));
  if (sets_clocks) {
    PJ_TRY(hands->knobs_, clock_knobs_of(machine, servers));
  }
  return hands;
}

Result<std::string> KnobHands::set_clock(std::size_t server, std::size_t instance,
                                         double clock_mhz) {
  const auto found = knobs_.find({server, instance});
  if (found == knobs_.end())
    return Error::internal("no clocks of " + servers_[server].instances[instance].name);
  std::string in_force;
  for (Knob* const knob : found->second) {
    PJ_TRY(const std::string one, journal_.turn(*knob, fmt::format("{:g} MHz", clock_mhz)));
    if (in_force.empty()) {
      in_force = one;
    } else if (in_force.find(one) == std::string::npos) {
      in_force += ", " + one;
    }
  }
  return in_force;
}

Outcome KnobHands::begin(ServerDeed deed, std::size_t server, const Division& running,
                         const Division& wanted) {
  PJ_TRY(auto run,
         CommandLinesRun::start(commands_for(commands_, deed, servers_[server], running, wanted),
                                within_, clock_));
  running_.push_back({deed, server, std::move(run)});
  return {};
}

std::vector<EndedDeed> KnobHands::ended() {
  std::vector<EndedDeed> ended;
  std::erase_if(running_, [&](Running& one) {
    const auto outcome = one.run->poll();
    if (outcome) ended.push_back({one.deed, one.server, *outcome});
    return outcome.has_value();
  });
  return ended;
}

Result<std::string> DryHands::set_clock(std::size_t, std::size_t, double clock_mhz) {
  return fmt::format("{:g} MHz", clock_mhz);
}

}  // namespace perjoule
