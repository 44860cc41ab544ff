#include "fleet/profile/profile_cells.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/text.h"

namespace perjoule {

std::string text_of_cell(const CsvTable& table, std::size_t row, std::size_t column) {
  return fmt::format("{}: line {}, column '{}'", table.name(), table.line(row),
                     table.columns()[column]);
}

Result<double> positive_cell(const CsvTable& table, std::size_t row, std::size_t column,
                             bool or_zero) {
  PJ_TRY(const double value, table.number(row, column));
  if (value > 0 || (or_zero && value == 0)) return value;
  return Error::invalid_argument(fmt::format("{}: {} {}", text_of_cell(table, row, column),
                                             exact(value),
                                             or_zero ? "is below 0" : "is not above 0"));
}

Result<int> degree_cell(const CsvTable& table, std::size_t row, std::size_t column) {
  constexpr double kMost = 65536;
  PJ_TRY(const double value, positive_cell(table, row, column));
  if (value == std::floor(value) && value <= kMost) return static_cast<int>(value);
  return Error::invalid_argument(
      fmt::format("{}: {} is no number of GPUs", text_of_cell(table, row, column), exact(value)));
}

Result<Seconds> latency_cell(const CsvTable& table, std::size_t row, std::size_t column) {
  if (trim(table.cell(row, column)).empty())
    return Seconds(std::numeric_limits<double>::quiet_NaN());
  PJ_TRY(const double value, positive_cell(table, row, column, true));
  return Seconds(value / 1000);
}

}  // namespace perjoule
