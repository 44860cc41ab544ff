// What every pipeline verb is told: the profile, the schedule, the power of a GPU that waits.
#pragma once

#include <memory>
#include <vector>

#include "cli/table.h"
#include "cli/verb.h"
#include "pipeline/plan/problem.h"

namespace perjoule::cli {

/// Of schedule_options() and profile_options().
std::vector<Option> pipeline_options();
/// The order of instructions and its counts.
std::vector<Option> schedule_options();
/// What goes with a profile that is read.
std::vector<Option> profile_options();

/// All but the number of stages, which the profile has.
Result<ScheduleShape> read_schedule_shape(const Arguments& arguments);
/// --blocking-power.
Result<BlockingPower> read_waiting_power(const Arguments& arguments);
/// --switch-time, --switch-energy and --dwell.
Result<SwitchCost> read_switch_cost(const Arguments& arguments);
/// With its factors.
Result<PipelineProfile> read_scaled_profile(const Arguments& arguments, const std::string& path);
/// --gpus: how many wait in each stage; the profile's where it is not given.
Result<int> read_stage_gpus(const Arguments& arguments, const PipelineProfile& profile);
/// A whole number from 1 up.
Result<int> read_size(const Arguments& arguments, std::string_view option);

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
