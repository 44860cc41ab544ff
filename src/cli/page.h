// What --html writes.
#pragma once

#include <string>

#include "base/result.h"

namespace perjoule::cli {

/// A page of the documents that a verb printed: one, or one a line. not_supported where there is
/// none.
Outcome write_page(const std::string& path, const std::string& printed);

}  // namespace perjoule::cli
