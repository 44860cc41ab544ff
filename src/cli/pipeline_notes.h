// What a reader of a pipeline's figures has to know of the profile behind them: what is not in
// them, and how well they are known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "pipeline/profile/profile.h"

namespace perjoule::cli {

/// On standard error: settings that are no options because not all GPUs of the stage were measured
/// there; nothing where there are none.
void say_left_out(const PipelineProfile& profile);

/// An energy and its standard error (pipeline/plan/energy_error.h), where that is known.
struct KnownEnergy {
  Joules energy;
  std::optional<Joules> error;
};

/// A line below a table of them: uncertainty, boundary and grade.
std::string how_well_known(const std::vector<KnownEnergy>& energies);

/// Members of every document of pipelines: status, boundary and grade of all its energies, as
/// Energy has them of what is reconstructed.
void add_provenance(Json& document);
/// The value of energy_sigma_j: null where it is not known.
Json sigma_json(std::optional<Joules> error);

}  // namespace perjoule::cli
