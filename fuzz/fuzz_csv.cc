// The CSV reader: whatever it accepts must be written and read back to the same cells.
#include <cstdlib>

#include "base/csv.h"

namespace {

std::string written(const perjoule::CsvTable& table) {
  std::string text;
  const std::size_t columns = table.columns().size();
  for (std::size_t i = 0; i < columns; ++i)
    text += (i == 0 ? "" : ",") + perjoule::csv_field(table.columns()[i]);
  text += "\n";
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (std::size_t i = 0; i < columns; ++i)
      text += (i == 0 ? "" : ",") + perjoule::csv_field(table.cell(row, i));
    text += "\n";
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto table = perjoule::parse_csv(text, "f");
  if (!table) return 0;
  for (std::size_t row = 0; row < table->rows(); ++row) {
    for (std::size_t i = 0; i < table->columns().size(); ++i) (void)table->number(row, i);
  }
  // A table of one column cannot say an empty cell, and a name may begin with a byte-order mark.
  if (table->columns().size() < 2 || table->columns()[0].substr(0, 1) == "\xEF") return 0;
  const auto again = perjoule::parse_csv(written(*table), "f");
  if (!again || again->rows() != table->rows() || again->columns() != table->columns())
    std::abort();
  for (std::size_t row = 0; row < table->rows(); ++row) {
    for (std::size_t i = 0; i < table->columns().size(); ++i) {
      if (again->cell(row, i) != table->cell(row, i)) std::abort();
    }
  }
  return 0;
}
