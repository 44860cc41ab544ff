// The exit status of verbs that run a command and pass its status on: how their own errors are told
// from the command's (docs/exit-status.md).
#pragma once

#include <functional>
#include <string_view>

#include "cli/verb.h"

namespace perjoule::cli {

/// `run`'s own status; of an error, which is printed, kUsage for words that make no sense,
/// kCommandNotFound and kCommandNotRun for a command that cannot be run, kOwnFailure for the rest.
Result<int> with_command_status(std::string_view verb, const Arguments& arguments,
                                const std::function<Result<int>(const Arguments&)>& run);

}  // namespace perjoule::cli
