// Whether a series keeps its level, and how much of its beginning to leave out so that it does.
//
// Both want means of batches of observations, whose noise is nearer to independent than the
// observations' own.
#pragma once

#include <cstddef>
#include <span>

namespace perjoule {

/// White's marginal standard error rule (MSER; Simulation 69(6), 1997): how many of the first
/// values to leave out, at most half of them, so that the mean of the others has the least standard
/// error; of lengths whose squared errors lie within a quarter of the least, the shortest, as noise
/// alone moves them by as much and would else cost half of a series now and then. Variation below
/// 0.1 % of the mean is as good as none. O(values).
std::size_t warm_up_length(std::span<const double> values);

/// The statistic of Kwiatkowski, Phillips, Schmidt and Shin (J. Econometrics 54, 1992) for a
/// constant level: the sum of squares of the partial sums of deviations, over n^2 times their
/// long-run variance (Bartlett weights up to lag 4 (n / 100)^(1/4)). Large where the level drifts,
/// shifts or wanders; 0 for a series that does not vary. O(values x lags).
double kpss_statistic(std::span<const double> values);
/// Above it a constant level is rejected at 5 % (their table 1).
inline constexpr double kKpssLimit = 0.463;

}  // namespace perjoule
