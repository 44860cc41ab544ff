// Which columns of a table are its time, its energy and its settings: the mapping a user gave, and
// recognition by name for the rest. Used by points_table.cc.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontier/points_table.h"
#include "frontier/row_source.h"

namespace perjoule {

/// A figure: the sum of some columns, each with the factor to SI.
struct FigureColumns {
  std::vector<std::pair<std::size_t, double>> parts;
  std::string label;  ///< as the user would write it
  bool present() const { return !parts.empty(); }
  /// The figure in SI units at `row`.
  Result<double> read(const RowSource& rows, std::size_t row) const;
};

struct ColumnRoles {
  FigureColumns time;
  FigureColumns energy;
  FigureColumns power;
  FigureColumns rate;
  FigureColumns uncertainty;
  std::optional<std::size_t> status;
  std::vector<std::size_t> settings;
};

/// Fails with invalid_argument when a named column does not exist, when none or several columns
/// could be meant, or when a unit is of another quantity; the message lists the columns there are.
/// What was taken for granted is appended to `notes`.
Result<ColumnRoles> find_roles(const RowSource& rows, const PointsOptions& options,
                               std::vector<std::string>& notes);

/// The column of that name, or not_found listing the columns there are.
Result<std::size_t> column_named(const RowSource& rows, std::string_view name);

}  // namespace perjoule
