// How an energy is told to people: with its uncertainty, or as the bound that it is.
#pragma once

#include <string>
#include <string_view>

#include "base/energy.h"

namespace perjoule {

/// "944 +- 240 J"; where it is only a bound "at least 944 J", "at most 944 J", or "unknown" where
/// it is bounded on neither side or missing. An estimate that knows its interval is told by it,
/// "1.2 J (171 mJ to 4.6 J)": a model's interval is no plus-minus around its answer.
std::string with_uncertainty(const Energy& energy);
/// "at least ", "at most " or nothing, for a figure made of the energy, such as a mean power.
std::string_view bound_words(const Energy& energy);

}  // namespace perjoule
