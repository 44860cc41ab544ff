// The dashboard.
#pragma once

#include <vector>

#include "server/http/route.h"

namespace perjoule {

/// "/" and "/assets/{name}". They show nothing by themselves: what they ask for is asked as their
/// reader.
std::vector<Route> page_routes();

}  // namespace perjoule
