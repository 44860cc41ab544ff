// Stored runs in JSON: perjoule.runs.v1, as `perjoule runs --json` and the daemon say it.
#pragma once

#include <vector>

#include "base/json.h"
#include "store/store.h"

namespace perjoule {

/// The run as one object: its record, its document, and its samples when asked for.
Json run_json(const RunRecord& run, bool with_samples);
Json runs_document(const std::vector<RunRecord>& runs, bool with_samples);

}  // namespace perjoule
