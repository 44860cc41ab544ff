// Repeats of one setting become one point.
//
//   std::vector<Point> points = average_repeats(std::move(every_run));
#pragma once

#include <vector>

#include "base/config.h"

namespace perjoule {

/// Averages the points that have equal configs; the others, and points without settings, stay as
/// they are. Order is that of the first of each. O(n) expected.
///
/// Time, rate and energy become means. The energy's random part becomes the larger of what the
/// parts carry (their random parts in quadrature, over n) and what their spread shows: the standard
/// error of the mean, s / sqrt(n), s with n - 1. Systematic parts, being the same error each time,
/// do not shrink. A point with missing energy is left out of the mean unless all are missing.
/// `origin` is that of the first.
std::vector<Point> average_repeats(std::vector<Point> points);

}  // namespace perjoule
