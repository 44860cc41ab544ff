#include "base/energy_text.h"

#include "base/text.h"

namespace perjoule {

std::string with_uncertainty(const Energy& energy) {
  if (!energy.one_sided()) return with_uncertainty(energy.joules, energy.expanded_uncertainty());
  if (energy.lower_bound && energy.upper_bound) return "unknown";
  return std::string(bound_words(energy)) + to_text(energy.joules, 3);
}

std::string_view bound_words(const Energy& energy) {
  if (energy.lower_bound) return "at least ";
  return energy.upper_bound ? "at most " : "";
}

}  // namespace perjoule
