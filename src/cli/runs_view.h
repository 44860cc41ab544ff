// How stored runs are shown. The document of a run is rendered for what it has in common with every
// other: `total` and `sources`, each an energy (base/energy_json.h).
#pragma once

#include <string>
#include <vector>

#include "store/store.h"

namespace perjoule::cli {

/// One line a run.
std::string runs_table(const std::vector<RunRecord>& runs);
/// What was run and what it used, by source, with uncertainty and status.
std::string run_text(const RunRecord& run);

/// The samples as CSV: run,source,unix_s,watts. An empty cell where there was no sample.
std::string samples_csv(const std::vector<RunRecord>& runs);

}  // namespace perjoule::cli
