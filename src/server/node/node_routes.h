// What the daemon answers of its own machine.
#pragma once

#include <vector>

#include "server/http/route.h"
#include "server/node/node.h"

namespace perjoule {

/// /api/v1/node, node/live and node/history. The node must outlive them.
std::vector<Route> node_routes(Node& node);

}  // namespace perjoule
