// Least squares of y = a exp(b x) + c with a >= 0: the cost model of Perseus (lowtime), fitted as
// the peer fits it.
//
// Where times are nearly linear in cost the best b tends to 0 and the three numbers run away
// together; what the peer then publishes is where its optimiser stopped. So the optimiser has to be
// the same: MINPACK's lmdif with forward differences from the same 54 starting points.
#pragma once

#include <span>

#include "base/result.h"

namespace perjoule {

struct ExponentialFit {
  double a = 0;
  double b = 0;
  double c = 0;
  double mean_square = 0;  ///< of the residuals

  double at(double x) const;
};

struct Sample {
  double x = 0;
  double y = 0;
};

/// `unit` is the length of one x in milliseconds: starting points are rates a millisecond. Fails
/// with invalid_argument for fewer than three different x, or where no start ends at a falling
/// exponential.
Result<ExponentialFit> fit_exponential(std::span<const Sample> samples, double unit);

}  // namespace perjoule
