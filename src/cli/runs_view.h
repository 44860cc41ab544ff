// How stored runs are shown. The document of a run is rendered for what it has in common with every
// other: `total` and `sources`, each an energy (base/energy_json.h).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "store/store.h"

namespace perjoule::cli {

/// "2026-11-29 18:42:16" in UTC.
std::string utc_text(std::int64_t unix_ns);

/// One line a run.
std::string runs_table(const std::vector<RunRecord>& runs);
/// What was run and what it used, by source, with uncertainty and status.
std::string run_text(const RunRecord& run);

/// The run as one object: its record, its document, and its samples when asked for.
Json run_json(const RunRecord& run, bool with_samples);
/// The samples as CSV: run,source,unix_s,watts. An empty cell where there was no sample.
std::string samples_csv(const std::vector<RunRecord>& runs);

}  // namespace perjoule::cli
