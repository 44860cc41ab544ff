// The settings of a plan's steps in a file of plans: in full, or as what differs from the plan
// before (docs/formats.md). Neighbouring plans differ in few steps, and a plan is thousands of
// numbers.
//
//   write_changes(text, settings_of(problem, fast), settings_of(problem, slower));
//   PJ_TRY(const StepSettings settings, read_settings(plans, 7, "plans.json"));
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "pipeline/plan/plan.h"

namespace perjoule::cli {

/// The number of a setting, by stage and step in issue order.
using StepSettings = std::vector<std::vector<std::int64_t>>;

StepSettings settings_of(const PipelineProblem& problem, const PipelinePlan& plan);

/// "knob":[[...],...] appended.
void write_settings(std::string& text, const StepSettings& settings);
/// "changes":[[[step,setting],...],...] appended: for each stage the steps that are not as before.
void write_changes(std::string& text, const StepSettings& before, const StepSettings& settings);

/// What settings of a file's plans are of.
struct SettingsShape {
  std::vector<std::size_t> steps;  ///< by stage
  std::size_t knobs = 0;           ///< each number is below it
};

/// Those of plans[number], whichever way they are written. invalid_argument, `path` named, where a
/// plan has neither, the first has only changes, settings or changes are of stages or steps that
/// there are not, or name a knob that there is not. O(steps + changes of the plans before).
Result<StepSettings> read_settings(const Json::Array& plans, std::size_t number,
                                   const SettingsShape& shape, const std::string& path);
/// The same refusals for all plans. O(steps and changes of all).
Outcome check_settings(const Json::Array& plans, const SettingsShape& shape,
                       const std::string& path);
Json json_of(const StepSettings& settings);

}  // namespace perjoule::cli
