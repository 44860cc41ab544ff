// What fleet simulate --fluid found, as tables and as a document (docs/formats.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "fleet/plan/fluid_fleet.h"
#include "fleet/plan/price_series.h"

namespace perjoule::cli {

struct FluidRow {
  FluidReport report;
  std::optional<FleetCost> cost;  ///< where prices are given
};

struct FluidView {
  const ServingProfile& profile;
  const LoadCurve& load;
  const FluidOptions& options;
  const FluidFleet& fleet;
  std::optional<double> gpu_hour_price;
  Joules joint;  ///< energy of the joint choice
};

std::string fluid_text(const FluidView& view, const std::vector<FluidRow>& rows);
Json fluid_json(const FluidView& view, const std::vector<FluidRow>& rows, bool bins);

}  // namespace perjoule::cli
