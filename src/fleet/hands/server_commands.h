// The commands that start, stop and divide the servers of a real fleet: texts for /bin/sh with
// placeholders, the owner's own or one of the presets.
//
//   PJ_TRY(ServerCommands commands, commands_of_preset("systemd"));
//   PJ_CHECK(check_commands(commands));
//   commands_for(commands, ServerDeed::kStart, server, {}, server.division);
//       // systemctl start n1-a.service, systemctl start n1-b.service
//
// A command that has a placeholder of an instance is run once for each: of those that are to run
// (start, reshard) or that run (stop, drain). Otherwise it is run once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fleet/hands/fleet_layout.h"

namespace perjoule {

enum class ServerDeed : std::uint8_t { kStart, kDrain, kStop, kReshard };
/// "start", "drain", "stop", "reshard".
std::string_view name_of(ServerDeed deed);

/// Placeholders of a server: {server}, {pool}, {division} (the degrees of tensor parallelism that
/// it is to have, "2,2"). Of an instance: {instance}, {gpus} ("0,1"), {tp}, {port}. Braces of the
/// shell's own, as in ${HOME}, stay.
struct ServerCommands {
  std::string start = {};
  std::string stop = {};
  std::string reshard = {};  ///< empty: what runs is stopped, and what is to run started
  std::string drain = {};    ///< tells whoever routes requests to send no more; may be empty
};

/// "systemd", "slurm" or "kubernetes" (docs/fleet.md has their lines); not_found lists them.
Result<ServerCommands> commands_of_preset(std::string_view name);

/// invalid_argument for a {word} that is no placeholder. O(length).
Outcome check_commands(const ServerCommands& commands);
/// Whether there is what a deed takes.
bool can(const ServerCommands& commands, ServerDeed deed);

/// The lines of a deed, to be run one after another; none where there is nothing to do.
std::vector<std::string> commands_for(const ServerCommands& commands, ServerDeed deed,
                                      const FleetServer& server, const Division& running,
                                      const Division& wanted);

}  // namespace perjoule
