// perjoule fleet simulate --fluid: a recorded load as a fluid, under several policies.
#pragma once

#include <string>
#include <vector>

#include "cli/verb.h"

namespace perjoule::cli {

/// Options of the load and of this way to play it.
std::vector<Option> fleet_fluid_options();
/// A line a policy, for the help.
std::string fluid_policy_words();
Result<int> run_fleet_fluid(const Arguments& arguments);

}  // namespace perjoule::cli
