// How well the energy of an iteration is known: the standard error that the profile's own make in
// it.
//
//   energy_error(problem, option);   // J, one sigma; none where the profile does not say
//
// An iteration's energy is a sum of measured means. An option's mean is one figure, used for every
// microbatch: what it is wrong by counts as often as it is used, n e, and not sqrt(n) e. Options of
// other settings and instructions were measured each by itself, and their errors add in quadrature:
//   sigma^2 = sum over options of (n e)^2.
// What waiting takes has no error here: a table of blocking power states none. Nor has what the
// profile does not know of, such as the gain of the meter.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/energy.h"
#include "base/units.h"
#include "pipeline/plan/problem.h"

namespace perjoule {

/// `option` as simulate_iteration() takes it. None where an option that is used has neither repeats
/// nor a stated error: what is left would be too small. O(activities).
std::optional<Joules> energy_error(const PipelineProblem& problem,
                                   std::span<const std::uint32_t> option);

/// An iteration's energy with what goes with it: put together from a profile of boards (B0).
Energy iteration_energy(Joules energy, std::optional<Joules> error, std::string source);

}  // namespace perjoule
