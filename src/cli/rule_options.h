// The options that name a rule of choice, the same for every verb that chooses on a frontier.
#pragma once

#include <vector>

#include "cli/verb.h"
#include "frontier/rule.h"

namespace perjoule::cli {

std::vector<Option> rule_options();

/// The one rule the options name; the knee when they name none. invalid_argument when they name
/// two.
Result<Rule> rule_from(const Arguments& arguments);

}  // namespace perjoule::cli
