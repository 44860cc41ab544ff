// What every pipeline verb is told: the profile, the schedule, the power of a GPU that waits.
#pragma once

#include <memory>
#include <vector>

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
};

/// Reads the profile that the positional PROFILE names and builds the problem.
Result<PipelineInput> read_pipeline(const Arguments& arguments);

}  // namespace perjoule::cli
