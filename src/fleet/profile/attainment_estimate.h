// The share of requests that get their tokens in time at a point of a profile, where it was not
// counted: estimated from the latencies that are known.
//
//   point.attainment = estimated_attainment(point, Seconds(0.4), Seconds(0.1));
//
// Of each latency the statistics that are known lie on a curve of the share of requests above it,
// straight on a logarithmic scale between them and beyond the last, as the tail of an exponential
// distribution is:
//
//   missed(L) = exp(ln m_a + (ln m_b - ln m_a) (L - a) / (b - a)),   m_p90 = 0.1, m_p99 = 0.01
//
// Below the first one it goes to 1 at L = 0; where only the mean is known, missed(L) = exp(-L /
// mean). The two latencies' misses are added: no request may miss both to make it look better. P90
// and P99 of gaps are of single gaps, and a request's mean gap is rarely that far out, so the
// estimate is on the low side. It is an estimate, and to be called so.
#pragma once

#include "fleet/profile/serving_profile.h"

namespace perjoule {

/// From 0 to 1; NaN where no statistic of one of the two latencies is known. O(1).
double estimated_attainment(const ServingPoint& point, Seconds most_ttft, Seconds most_tbt);

}  // namespace perjoule
