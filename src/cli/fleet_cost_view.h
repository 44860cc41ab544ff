// What a fleet costs an hour, in the tables and documents of both ways of simulating it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "cli/table.h"
#include "fleet/plan/price_series.h"

namespace perjoule::cli {

/// Of one policy; what was not asked for is none.
struct FleetHourlyCost {
  std::optional<FleetCost> electricity = {};  ///< over `time`
  Seconds time = {};
  std::optional<double> gpus = {};  ///< an hour, in the price's currency
};

/// The columns that add_cells() fills; the same are asked for of every policy.
void add_columns(const FleetHourlyCost& cost, std::vector<Table::Column>& columns);
void add_cells(const FleetHourlyCost& cost, std::vector<std::string>& cells);
/// electricity_per_hour, carbon_g_per_hour (null where not known) and gpu_cost_per_hour.
void add_members(const FleetHourlyCost& cost, Json& json);

}  // namespace perjoule::cli
