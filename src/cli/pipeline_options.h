// What every pipeline verb is told: the profile, the schedule, the power of a GPU that waits.
#pragma once

#include <memory>
#include <vector>

#include "cli/table.h"
#include "cli/verb.h"
#include "pipeline/problem.h"

namespace perjoule::cli {

std::vector<Option> pipeline_options();

/// A problem with what it refers to.
struct PipelineInput {
  std::unique_ptr<PipelineProfile> profile;
  std::unique_ptr<PipelineSchedule> schedule;
  std::unique_ptr<PipelineProblem> problem;
  std::string source;  ///< what the figures come from, for the reader

  /// "profile.csv: 1f1b, 8 stages, 12 microbatches, 192 instructions".
  std::string heading() const;
};

/// Columns of a table with an iteration a row, beside the highest setting's.
std::vector<Table::Column> iteration_columns();

/// Reads the profile that the positional PROFILE names and builds the problem.
Result<PipelineInput> read_pipeline(const Arguments& arguments);

}  // namespace perjoule::cli
