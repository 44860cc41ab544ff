// Stored runs, read for others.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "server/http/route.h"
#include "store/store.h"

namespace perjoule {

/// Opens the store for one request: an object of it serves one thread.
using OpenStore = std::function<Result<std::unique_ptr<Store>>()>;

/// /api/v1/runs, runs/{id} and runs/{id}/timeline.
std::vector<Route> run_routes(OpenStore open);

}  // namespace perjoule
