// When an open load sends its requests: instants that do not depend on what the server does, as
// functions of a seed.
//
//   const Arrivals arrivals{.law = ArrivalLaw::kGamma, .rate = Hertz(8), .burstiness = 0.5};
//   PJ_TRY(const std::vector<Seconds> times, arrival_times(arrivals, 1000, seed));
//
// The laws, over the gaps between requests, whose mean is 1 / rate (the first gap comes before the
// first request, so that N requests take N / rate):
//
//   at once    all gaps are 0
//   constant   all gaps are alike
//   Poisson    exponential gaps: many clients that know nothing of one another
//   gamma      gaps of shape `burstiness` k and scale 1 / (rate k), as vLLM's and ML.ENERGY's
//              clients have them: the coefficient of variation is k^-1/2, so that a k below 1 is
//              burstier than Poisson, 1 is Poisson, and a large one nearly constant
//   trace      the gaps of a recording, in its own time or in another; from its first request on
//
// A short run of random gaps has a mean of its own: vLLM and ML.ENERGY stretch it so that the last
// request comes at N / rate exactly. Here that is a choice (`has_exact_mean`), as it is no longer
// the law that was asked for: gaps of one run then depend on one another.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace perjoule {

enum class ArrivalLaw { kAtOnce, kConstant, kPoisson, kGamma, kTrace };
std::string_view name_of(ArrivalLaw law);

struct Arrivals {
  ArrivalLaw law = ArrivalLaw::kAtOnce;
  Hertz rate = {};                  ///< of the constant and the random laws
  double burstiness = 1;            ///< of the gamma law
  bool has_exact_mean = false;      ///< of the random laws
  std::vector<Seconds> trace = {};  ///< instants, in any order, from any beginning
  double speed = 1;                 ///< of the trace: 2 replays it in half its time
};

/// The instants of `count` requests, from the run's beginning on, none before the one before it.
/// The same for the same seed; a longer run begins as a shorter one does, unless its mean is exact.
/// invalid_argument for what is no rate, burstiness or speed (finite and above 0), out_of_range
/// where the trace holds fewer requests. O(count); O(n log n) for a trace of n.
Result<std::vector<Seconds>> arrival_times(const Arrivals& arrivals, std::size_t count,
                                           std::uint64_t seed);

}  // namespace perjoule
