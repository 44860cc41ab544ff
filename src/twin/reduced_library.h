// A copy of the stand-in library in which some symbols are missing, as in an older driver. Client
// programs look symbols up by name; renaming one in the copy's string table makes it unfindable
// and leaves everything else as it was.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace perjoule::twin {

/// The functions a shared library (64-bit ELF) exports, sorted.
Result<std::vector<std::string>> exported_symbols(const std::string& path);

/// Writes `target`, a copy of `source` without those symbols; an error if one is not there.
Outcome make_reduced_library(const std::string& source, const std::string& target,
                             const std::vector<std::string>& missing);

}  // namespace perjoule::twin
