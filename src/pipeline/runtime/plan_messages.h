// What ranks and the plan service say to one another, as lines of JSON (docs/formats.md, schema
// perjoule.pipeline-rank.v1).
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "pipeline/runtime/plan_service.h"

namespace perjoule {

Json to_json(const RankPlace& place);
Result<RankPlace> rank_place_of(const Json& json);

Json to_json(const IterationReport& report);
Result<IterationReport> iteration_report_of(const Json& json);

Json to_json(const RankWelcome& welcome);
Result<RankWelcome> rank_welcome_of(const Json& json);

/// The settings as runs of equal ones.
Json to_json(const RankOrders& orders);
Result<RankOrders> rank_orders_of(const Json& json);

Json to_json(const PlanService::Summary& summary);

/// {"error": {...}}.
Json error_json(const Error& error);
/// The error that an answer is; nothing where it is none.
std::optional<Error> error_of(const Json& json);

}  // namespace perjoule
