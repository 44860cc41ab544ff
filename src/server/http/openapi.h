// The routes as an OpenAPI 3.1 document, made from the very table that the router works by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "server/http/route.h"

namespace perjoule {

/// `schemas`: JSON Schema by the schema's name, an object. invalid_argument where a route names one
/// that is not there, or two routes are of one method and address.
Result<Json> openapi_document(const std::vector<Route>& routes, const Json& schemas,
                              std::string_view version);

/// Those of the daemon's documents (data/openapi_schemas.json).
const Json& document_schemas();

}  // namespace perjoule
