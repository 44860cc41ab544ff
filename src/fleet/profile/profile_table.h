// Our own table of serving profiles (docs/formats.md): a row a point, with columns model, gpu, tp,
// pp, clock_mhz, class, load_tps, power_w, ttft_mean_ms, ttft_p90_ms, ttft_p99_ms, tbt_mean_ms,
// tbt_p90_ms, tbt_p99_ms, status, origin. An empty latency is not known; an empty class is any.
//
//   PJ_TRY(const CsvTable table, read_csv(path));
//   PJ_TRY(const ServingProfile profile, read_profile_table(table));
//   PJ_CHECK(write_file_atomically(path, profile_csv(profile)));
#pragma once

#include <string>

#include "base/csv.h"
#include "fleet/profile/serving_profile.h"

namespace perjoule {

/// Whether its columns are this table's.
bool is_profile_table(const CsvTable& table);

/// Columns may stand in any order, and others are passed over. invalid_argument for a cell that
/// makes no sense, naming file, line and column, for a point that stands there twice, and for a
/// table without rows. O(rows log rows).
Result<ServingProfile> read_profile_table(const CsvTable& table);

/// The table, a line a point, curves in their order. Figures read back as they are to 1e-15 of
/// themselves (seconds stand as milliseconds); notes are not kept.
std::string profile_csv(const ServingProfile& profile);

}  // namespace perjoule
