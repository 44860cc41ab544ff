// Cells of a table as what a profile is made of, with errors that name file, line and column.
#pragma once

#include <cstddef>

#include "base/csv.h"
#include "base/units.h"

namespace perjoule {

/// A whole number from 1 to 65,536: a degree of parallelism.
Result<int> degree_cell(const CsvTable& table, std::size_t row, std::size_t column);
/// Milliseconds from 0 on; an empty cell is NaN: not known.
Result<Seconds> latency_cell(const CsvTable& table, std::size_t row, std::size_t column);
/// A finite number, above 0 or, with `or_zero`, not below it.
Result<double> positive_cell(const CsvTable& table, std::size_t row, std::size_t column,
                             bool or_zero = false);
/// "a.csv: line 2, column 'tp'".
std::string text_of_cell(const CsvTable& table, std::size_t row, std::size_t column);

}  // namespace perjoule
