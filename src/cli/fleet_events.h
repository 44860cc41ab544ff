// fleet simulate request by request: its options, and running it.
#pragma once

#include <string>
#include <vector>

#include "cli/verb.h"

namespace perjoule::cli {

std::vector<Option> fleet_event_options();
/// A line a policy, for the help.
std::string fleet_policy_words();
Result<int> run_fleet_events(const Arguments& arguments);

}  // namespace perjoule::cli
