#include "fleet/plan/price_series.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace perjoule {
namespace {

Result<std::optional<double>> figure(const CsvTable& table, std::size_t row,
                                     std::optional<std::size_t> column) {
  if (!column || trim(table.cell(row, *column)).empty()) return std::optional<double>();
  PJ_TRY(const double value, table.number(row, *column));
  return std::optional<double>(value);
}

/// A sum that is known only as long as all of its parts are.
struct PartlyKnown {
  double sum = 0;
  bool known = true;

  void add(double kwh, const std::optional<double>& each) {
    known = known && each.has_value();
    sum += kwh * each.value_or(0);
  }
};

}  // namespace

Result<PriceSeries> read_prices(const CsvTable& table) {
  PJ_TRY(const std::size_t time, table.require_column("time"));
  const auto price = table.column("price_per_kwh");
  const auto carbon = table.column("carbon_g_per_kwh");
  if (!price && !carbon) PJ_CHECK(table.require_column("price_per_kwh"));
  PriceSeries series;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    PriceRow read;
    PJ_TRY(const double at, table.number(row, time));
    read.at = Seconds(at);
    if (!series.rows.empty() && read.at <= series.rows.back().at) {
      return Error::invalid_argument(
          fmt::format("{}: line {}, column 'time': {} does not come after the row before",
                      table.name(), table.line(row), exact(at)));
    }
    PJ_TRY(read.price_per_kwh, figure(table, row, price));
    PJ_TRY(read.carbon_g_per_kwh, figure(table, row, carbon));
    // Power may be paid for to be taken; there is no negative carbon.
    if (read.carbon_g_per_kwh && *read.carbon_g_per_kwh < 0) {
      return Error::invalid_argument(
          fmt::format("{}: line {}, column 'carbon_g_per_kwh': {} is below 0", table.name(),
                      table.line(row), exact(*read.carbon_g_per_kwh)));
    }
    series.rows.push_back(read);
  }
  if (series.rows.empty()) return Error::invalid_argument(table.name() + ": no rows");
  return series;
}

FleetCost cost_of(const std::vector<FluidBin>& bins, const PriceSeries& prices) {
  PartlyKnown cost;
  PartlyKnown carbon;
  const std::vector<PriceRow>& rows = prices.rows;
  std::size_t at = 0;
  for (const FluidBin& bin : bins) {
    const Seconds end = bin.start + bin.duration;
    Seconds from = bin.start;
    while (at + 1 < rows.size() && rows[at + 1].at <= from) ++at;
    while (from < end) {
      const bool steps = at + 1 < rows.size() && rows[at + 1].at < end;
      const Seconds until = steps ? rows[at + 1].at : end;
      const double kwh = in_kilowatt_hours(bin.power * (until - from));
      const bool known = !rows.empty() && rows[at].at <= from;
      cost.add(kwh, known ? rows[at].price_per_kwh : std::nullopt);
      carbon.add(kwh, known ? rows[at].carbon_g_per_kwh : std::nullopt);
      from = until;
      if (steps) ++at;
    }
  }
  FleetCost total;
  if (cost.known) total.cost = cost.sum;
  if (carbon.known) total.carbon = Grams(carbon.sum);
  return total;
}

}  // namespace perjoule
