#include "cli/machine.h"

#include "cli/table.h"

namespace perjoule::cli {

Inventory find_machine(const Clock& clock, const DiscoveryOptions& options) {
  Inventory machine = discover(Roots::from_environment(), clock, options);
  tell(replay_dead(journal_folder(), machine));
  return machine;
}

void tell(const Replay& replay) {
  for (const std::string& line : replay.put_back) complain(line);
  for (const Problem& problem : replay.problems)
    complain(problem.subject + ": " + problem.error.text());
}

}  // namespace perjoule::cli
