// What `perjoule serve` takes, and the daemon's options from it.
#pragma once

#include <vector>

#include "cli/verb.h"
#include "server/daemon/daemon.h"

namespace perjoule::cli {

std::vector<Option> serve_options();

/// invalid_argument for what makes no sense, TCP without tokens among it.
Result<DaemonOptions> daemon_options(const Arguments& arguments);

}  // namespace perjoule::cli
