// One HTML file that shows documents, and needs no server: the dashboard's own views with the
// documents inside.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace perjoule {

/// Documents as the verbs print them with --json. internal where this build has no pages.
Result<std::string> report_page(const std::vector<Json>& documents);

}  // namespace perjoule
