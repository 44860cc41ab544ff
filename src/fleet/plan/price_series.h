// What a kilowatt-hour costs and how much carbon it stands for, over time.
//
//   PJ_TRY(const PriceSeries prices, read_prices(table));
//   const FleetCost cost = cost_of(report.bins, prices);
#pragma once

#include <optional>
#include <vector>

#include "base/csv.h"
#include "base/result.h"
#include "base/units.h"
#include "fleet/plan/fluid_pool.h"

namespace perjoule {

/// From its time on until the next row's.
struct PriceRow {
  Seconds at = {};  ///< on the load's clock
  std::optional<double> price_per_kwh = {};
  std::optional<double> carbon_g_per_kwh = {};
};

struct PriceSeries {
  std::vector<PriceRow> rows = {};  ///< by time
};

/// A table with columns time (s, from the load's beginning), price_per_kwh and carbon_g_per_kwh;
/// one of the two may be missing, and cells may be empty. Errors name file, line and column; times
/// must rise.
Result<PriceSeries> read_prices(const CsvTable& table);

/// What is not known for all of the time is none.
struct FleetCost {
  std::optional<double> cost = {};  ///< in the prices' currency
  std::optional<Grams> carbon = {};
};

/// The energy of every bin, split where the series steps within it, at its price. O(bins + rows).
FleetCost cost_of(const std::vector<FluidBin>& bins, const PriceSeries& prices);

}  // namespace perjoule
