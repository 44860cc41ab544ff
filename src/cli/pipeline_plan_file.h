// The file of a pipeline's plans, schema perjoule.pipeline-plans.v1 (docs/formats.md).
#pragma once

#include <string>

#include "cli/pipeline_options.h"
#include "pipeline/planner.h"

namespace perjoule::cli {

/// Written straight into text: a plan is thousands of small numbers.
std::string plan_document(const PipelineInput& input, const PipelineStudy& study);

}  // namespace perjoule::cli
