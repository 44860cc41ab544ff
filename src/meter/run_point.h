// A run as an operating point: what a unit of its work took, and under which settings.
//
//   PJ_TRY(const RunPoint run, point_of_run(record.document, record.id));
//   // run.point.config: command ./train --batch 32, project p, tag final, host h, run 3jwzv0c1x8e
//
// A run that counted units of work gives figures per unit, one that did not gives those of the
// whole run; `unit` says which, so that nobody puts the two side by side.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/json.h"
#include "base/result.h"

namespace perjoule {

struct RunPoint {
  Point point;                     ///< its energy keeps uncertainty, status, source and boundary
  std::string unit;                ///< of work: "step"; empty for a whole run
  std::vector<std::string> notes;  ///< what a reader should know of it, one sentence each
};

/// From a document perjoule.run.v1; `name`, the run's id, is its last setting. invalid_argument
/// naming the member that is missing.
Result<RunPoint> point_of_run(const Json& document, const std::string& name);

/// Whether a text says that it is a run or an export of runs (perjoule.run.v1, perjoule.runs.v1);
/// its beginning is enough.
bool is_run_file(std::string_view text);

/// Every run of such a file. Fails with invalid_argument; `name` is for messages.
Result<std::vector<RunPoint>> points_of_run_file(std::string_view text, const std::string& name);

}  // namespace perjoule
