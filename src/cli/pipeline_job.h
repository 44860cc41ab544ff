// A training whose ranks talk to a plan server: what pipeline profile and pipeline run share.
#pragma once

#include <memory>
#include <vector>

#include "base/process.h"
#include "cli/verb.h"
#include "pipeline/runtime/plan_service.h"

namespace perjoule::cli {

/// What is trained, and how it is profiled.
std::vector<Option> pipeline_job_options();
Result<PipelineJob> read_pipeline_job(const Arguments& arguments);
/// Clocks, rounds and warm-up; the rest as it is.
Outcome read_profiling(const Arguments& arguments, RuntimeRequest& request);

struct PipelineJobEnd {
  ExitState command;
  int lost_ranks = 0;  ///< that ended without leaving
};

/// Runs the command with a plan server beside it, which PERJOULE_PIPELINE names to its ranks, and
/// shows how far the service is. Clocks that a dead rank left locked are put back at once.
Result<PipelineJobEnd> run_pipeline_job(PlanService& service, const Arguments& arguments);

/// Iterations by phase as a table, those that profiled in one row, and what the plan saved.
void show_stretches(const PlanService& service);

}  // namespace perjoule::cli
