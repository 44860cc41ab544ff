// Points from one table of anyone's, as points_table.h describes it.
#pragma once

#include <cstdint>

#include "frontier/points_table.h"
#include "frontier/row_groups.h"
#include "frontier/row_source.h"

namespace perjoule {

/// Adds the table's points to `groups` and what there is to say of them to `table`; `file` is what
/// they say they came from. Errors
/// name file, line and column. O(rows x columns used).
Outcome read_table(const RowSource& rows, const PointsOptions& options, std::uint32_t file,
                   Grouper& groups, PointsTable& table);

}  // namespace perjoule
