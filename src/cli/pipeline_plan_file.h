// The file of a pipeline's plans, schema perjoule.pipeline-plans.v1 (docs/formats.md): written
// here, read here.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "cli/pipeline_options.h"
#include "cli/pipeline_plan_settings.h"
#include "pipeline/plan/planner.h"

namespace perjoule::cli {

/// A setting of the knobs as an object.
Json knob_json(const Config& knob);

/// How plans behind the first one give the settings of their steps.
enum class PlanSettings { kInFull, kChanges };

/// Written straight into text: a plan is thousands of small numbers.
std::string plan_document(const PipelineInput& input, const PipelineStudy& study,
                          PlanSettings how = PlanSettings::kInFull);

/// What a look-up needs of the file.
struct PlanFile {
  struct Plan {
    Seconds time;
    Joules energy;                ///< of all stages, until the iteration ends
    Watts left;                   ///< what they draw then, waiting
    std::optional<Joules> error;  ///< standard error of the energy, of that until later as well
    Joules until(Seconds later) const { return energy + left * std::max(Seconds(0), later - time); }
  };
  Plan highest;          ///< all at the highest setting
  Seconds least_energy;  ///< T*
  std::vector<Plan> plans;
  SettingsShape shape;  ///< what their settings are of
  Json document;
};

/// Refuses what is no such file, naming the member that is missing or not of its shape: a step of
/// an instruction that is not named, a knob of a plan that is none of the file's, and so on.
Result<PlanFile> read_plan_file(const std::string& path);

}  // namespace perjoule::cli
