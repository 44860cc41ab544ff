#include "cli/fleet_cost_view.h"

#include <fmt/format.h>

#include "base/text.h"

namespace perjoule::cli {
namespace {

constexpr double kHour = 3600;
constexpr double kGramsPerKilogram = 1000;

}  // namespace

void add_columns(const FleetHourlyCost& cost, std::vector<Table::Column>& columns) {
  constexpr auto kRight = Table::Align::kRight;
  if (cost.electricity) {
    columns.push_back({"ELECTRICITY/H", kRight});
    columns.push_back({"CARBON/H", kRight});
  }
  if (cost.gpus) columns.push_back({"GPUS/H", kRight});
}

void add_cells(const FleetHourlyCost& cost, std::vector<std::string>& cells) {
  const double hours = cost.time.value() / kHour;
  if (cost.electricity) {
    const FleetCost& sum = *cost.electricity;
    cells.push_back(sum.cost ? fixed(*sum.cost / hours, 2) : "-");
    cells.push_back(sum.carbon
                        ? fmt::format("{:.4g} kg", sum.carbon->value() / hours / kGramsPerKilogram)
                        : "-");
  }
  if (cost.gpus) cells.push_back(fixed(*cost.gpus, 2));
}

void add_members(const FleetHourlyCost& cost, Json& json) {
  const double hours = cost.time.value() / kHour;
  if (cost.electricity) {
    const FleetCost& sum = *cost.electricity;
    json["electricity_per_hour"] = sum.cost ? Json(*sum.cost / hours) : Json();
    json["carbon_g_per_hour"] = sum.carbon ? Json(sum.carbon->value() / hours) : Json();
  }
  if (cost.gpus) json["gpu_cost_per_hour"] = *cost.gpus;
}

}  // namespace perjoule::cli
