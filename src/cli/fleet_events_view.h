// What fleet simulate prints of simulations request by request.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "fleet/plan/price_series.h"
#include "fleet/simulate/fleet_report.h"

namespace perjoule::cli {

/// The engines of a layout, and how many tokens their steps compute at most.
struct EngineSteps {
  int gpus = 0;
  std::int64_t step_tokens = 0;
  std::optional<double> carries = {};  ///< prompt tokens a second in time, where that was tried
};

struct FleetEventsRow {
  FleetReport report;
  std::optional<FleetCost> cost = {};
};

struct FleetEventsView {
  std::vector<std::string> load = {};  ///< what was played, a line each
  std::vector<std::string> notes = {};
  std::vector<EngineSteps> engines = {};
  double least_attainment = 0;
  Json settings = Json::object();  ///< the words of the options that a result rests on
  std::optional<double> gpu_hour_price = {};
  bool by_class = false;
};

std::string fleet_events_text(const FleetEventsView& view, const std::vector<FleetEventsRow>& rows);
Json fleet_events_json(const FleetEventsView& view, const std::vector<FleetEventsRow>& rows);
/// A row a minute and policy, as CSV.
std::string fleet_timeline_csv(const std::vector<FleetEventsRow>& rows);

}  // namespace perjoule::cli
