// What this build calls itself.
#pragma once

#include <string>

namespace perjoule::cli {

/// "0.1.0".
std::string version();

}  // namespace perjoule::cli
