#include "base/energy_text.h"

#include <cmath>

#include "base/text.h"

namespace perjoule {

std::string with_uncertainty(const Energy& energy) {
  if (energy.status == Status::kMissing) return "unknown";
  if (energy.lower_bound && energy.upper_bound) return "unknown";
  if (!energy.one_sided()) {
    const bool interval = energy.status == Status::kEstimated &&
                          std::isfinite(energy.lower.value()) &&
                          std::isfinite(energy.upper.value());
    if (!interval) return with_uncertainty(energy.joules, energy.expanded_uncertainty());
    return to_text(energy.joules, 3) + " (" + to_text(energy.lower, 2) + " to " +
           to_text(energy.upper, 2) + ")";
  }
  return std::string(bound_words(energy)) + to_text(energy.joules, 3);
}

std::string_view bound_words(const Energy& energy) {
  if (energy.lower_bound) return "at least ";
  return energy.upper_bound ? "at most " : "";
}

}  // namespace perjoule
