// What --html writes.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace perjoule::cli {

/// The documents that a verb printed: one, or one a line. not_supported where there is none.
Result<std::vector<Json>> documents_in(const std::string& printed);

Outcome write_page(const std::string& path, const std::vector<Json>& documents);

}  // namespace perjoule::cli
