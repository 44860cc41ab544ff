#include "cli/pipeline_notes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/table.h"
#include "pipeline/plan/energy_error.h"

namespace perjoule::cli {
namespace {

/// Nothing that was not measured has a better grade, whatever the error, so that one of all of them
/// is that of each.
Energy any_energy() { return iteration_energy(Joules(1), Joules(0), {}); }

}  // namespace

void say_left_out(const PipelineProfile& profile) {
  const std::string text = profile.left_out().text(profile.name());
  if (!text.empty()) complain(text);
}

std::string how_well_known(const std::vector<KnownEnergy>& energies) {
  const Energy any = any_energy();
  const std::string where =
      fmt::format("boundary {}, grade {}", name_of(any.boundary), name_of(any.grade()));
  double worst = 0;
  for (const KnownEnergy& one : energies) {
    if (!one.error) {
      return fmt::format(
          "How well energies are known the profile does not say, without repeats and energy_spread "
          "({}).\n",
          where);
    }
    if (one.energy.value() > 0) {
      const Energy figure = iteration_energy(one.energy, one.error, {});
      worst = std::max(worst, figure.expanded_uncertainty() / one.energy);
    }
  }
  return fmt::format("Energies are known to {} (two standard errors of the profile's means; {}).\n",
                     percent(worst, 2), where);
}

void add_provenance(Json& document) {
  const Energy any = any_energy();
  document["status"] = any.status_text();
  document["boundary"] = name_of(any.boundary);
  document["grade"] = name_of(any.grade());
}

Json sigma_json(std::optional<Joules> error) { return error ? Json(error->value()) : Json(); }

}  // namespace perjoule::cli
