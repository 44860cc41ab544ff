// How an iteration's time and energy vary when each instruction's time does: simulated over and
// over, each time with times drawn anew (Monte Carlo).
//
//   PJ_TRY(const IterationSpread spread, sample_iterations(problem, option, {.samples = 1000}));
//   spread.time.p95;
//
// An instruction's time is drawn from a log-normal distribution with the mean and the standard
// deviation that its option was measured with, each instruction apart from the others; its power
// stays, so that its energy varies with its time. That the settings stay is the point: it is what a
// plan made for the means gives when the times are those of one iteration (microbatches of unlike
// length, experts of unlike load).
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "pipeline/plan/problem.h"

namespace perjoule {

struct SamplingRequest {
  int samples = 1000;
  std::uint64_t seed = 1;  ///< the same seed gives the same figures on every machine
  Ticks deadline = 0;      ///< iterations that end behind it are counted as late; 0 counts none
};

/// Mean and percentiles, between two samples on the line through them.
struct Distribution {
  double mean = 0;
  double p5 = 0;
  double p50 = 0;
  double p95 = 0;
};

struct IterationSpread {
  Distribution time;        ///< s
  Distribution energy;      ///< J, of all stages until the last has ended
  double late_share = 0;    ///< of the samples
  std::size_t varying = 0;  ///< instructions whose option was measured with a spread
};

/// `option` as simulate_iteration() takes it. invalid_argument where no option was measured with a
/// spread: all samples would be alike. O(samples x (activities + precedences)).
Result<IterationSpread> sample_iterations(const PipelineProblem& problem,
                                          std::span<const std::uint32_t> option,
                                          const SamplingRequest& request);

}  // namespace perjoule
