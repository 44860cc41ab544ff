#include "cli/machine.h"

#include "cli/node_meters.h"
#include "cli/table.h"
#include "client/api_client.h"
#include "device/leased_knob.h"

namespace perjoule::cli {

Result<Inventory> look_at_machine(const Clock& clock, const DiscoveryOptions& options) {
  PJ_TRY(const NodeMeters meters, NodeMeters::from_environment());
  DiscoveryOptions wanted = options;
  wanted.node_meters |= meters.ipmi;
  Inventory machine = discover(Roots::from_environment(), clock, wanted);
  add_node_meters(machine, meters, clock);
  return machine;
}

Result<Inventory> find_machine(const Clock& clock, const DiscoveryOptions& options) {
  PJ_TRY(Inventory machine, look_at_machine(clock, options));
  for (const Problem& problem : machine.problems) {
    if (problem.subject == kDcmiSource || problem.subject == kRedfishSource)
      complain(problem.subject + ": " + problem.error.text());
  }
  lease_forbidden_knobs(machine, [&clock] { return ApiClient::find_local(clock); });
  tell(replay_dead(journal_folder(), machine));
  return machine;
}

void tell(const Replay& replay) {
  for (const std::string& line : replay.put_back) complain(line);
  for (const Problem& problem : replay.problems)
    complain(problem.subject + ": " + problem.error.text());
}

}  // namespace perjoule::cli
