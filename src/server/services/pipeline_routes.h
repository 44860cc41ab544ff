// Pipeline trainings whose ranks are on other machines, over HTTP.
#pragma once

#include <vector>

#include "server/http/route.h"
#include "server/services/pipelines.h"

namespace perjoule {

/// /api/v1/pipelines, pipelines/{id}, and pipelines/{id}/ask and straggler. It must outlive them.
std::vector<Route> pipeline_routes(Pipelines& pipelines);

}  // namespace perjoule
