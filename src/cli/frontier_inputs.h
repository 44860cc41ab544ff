// What the words of `perjoule frontier` stand for: files, and runs of the store.
#pragma once

#include <string>
#include <vector>

#include "frontier/points_table.h"

namespace perjoule::cli {

/// The points of all words in one table. A word that is a file is that file (a table, or a run that
/// was written to one); any other is looked up among the stored runs: an id, the beginning of just
/// one, last, last~1. Fails with not_found saying that both were tried.
Result<PointsTable> load_points(const std::vector<std::string>& words,
                                const PointsOptions& options);

}  // namespace perjoule::cli
