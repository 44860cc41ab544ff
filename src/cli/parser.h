// From argv to a verb's run function and an exit status.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/verb.h"

namespace perjoule::cli {

/// Prints the version when the arguments ask for that alone, and answers the exit status; none
/// otherwise.
std::optional<int> answer_version(int argc, const char* const* argv);

/// Runs the verb the arguments name; prints help, version and usage errors itself. Answers the exit
/// status.
int dispatch(const std::vector<Verb>& verbs, int argc, const char* const* argv);

/// The exit status an error stands for (DESIGN: 2 usage, 3 the machine cannot).
int status_of(const Error& error);

}  // namespace perjoule::cli
