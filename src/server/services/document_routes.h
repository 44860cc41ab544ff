// A folder of what verbs have written with --json, for the pages: frontiers, plans, sweeps,
// leaderboards.
#pragma once

#include <string>
#include <vector>

#include "server/http/route.h"

namespace perjoule {

/// /api/v1/documents and documents/{name}: the folder's files *.json that say their schema. An
/// empty name of a folder: none.
std::vector<Route> document_routes(const std::string& folder);

}  // namespace perjoule
