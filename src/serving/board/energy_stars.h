// One to five stars for an energy among others of the same task, by both readings of the AI Energy
// Score, whose wording ("stars by fifths") allows both.
//
// | by    | five stars                                | formula                                   |
// | range | the lowest fifth of the span of energies  | 5 - min(4, floor(5 (E - Emin) / (Emax -
// Emin))) | | rank  | the lowest fifth of the models            | 5 - floor(5 r / n), r models
// below E of n  |
//
// The readings differ widely where a few models use much more than the others: then nearly all get
// five stars by range.
#pragma once

#include <vector>

#include "base/units.h"

namespace perjoule {

/// Of each energy, in their order. Equal energies have equal stars; a single one has five.
/// O(n log n).
std::vector<int> stars_by_range(const std::vector<Joules>& energies);
std::vector<int> stars_by_rank(const std::vector<Joules>& energies);

/// The AI Energy Score's class of a language model: 'A' up to 20e9 parameters, 'B' up to 66e9, 'C'.
char size_class(double total_billions);

}  // namespace perjoule
