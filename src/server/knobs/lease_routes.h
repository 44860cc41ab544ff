// Leases of knobs, over HTTP.
#pragma once

#include <vector>

#include "server/http/route.h"
#include "server/knobs/lease_book.h"

namespace perjoule {

/// /api/v1/leases and leases/{id}. Both must outlive them.
std::vector<Route> lease_routes(LeaseBook& book, const Clock& clock);

}  // namespace perjoule
