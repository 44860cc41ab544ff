// The tables of the SQLite store and the steps from one version to the next.
#pragma once

#include "store/sqlite_database.h"

namespace perjoule {

/// The version of the schema this build reads and writes.
constexpr std::int64_t kStoreVersion = 2;

/// Brings a store that may be written to kStoreVersion, one transaction a step, so that two
/// processes that open an old store at once do each step once. Refuses a newer version and a file
/// that holds other tables.
Outcome bring_up_to_date(const Database& database);

/// Checks that a store to be read is of a version this build knows; an empty file counts as
/// not_found.
Outcome check_version(const Database& database);

}  // namespace perjoule
