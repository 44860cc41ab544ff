// What an iteration is made of, by instruction: for charts and files.
//
//   const auto steps = activity_details(problem, option, iteration);
//   steps[problem.schedule().number(2, 0)].slack;   // of the first instruction of stage 2
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "pipeline/plan/iteration.h"
#include "pipeline/plan/problem.h"

namespace perjoule {

struct ActivityDetail {
  Ticks start = 0;
  Ticks end = 0;
  Ticks slack = 0;         ///< so much later it could end without the iteration taking longer
  std::uint32_t knob = 0;  ///< into problem.knobs()
  bool switched = false;   ///< its setting is not that of the one before (iteration.h)
};

/// By activity. `option` is what `iteration` was simulated with.
std::vector<ActivityDetail> activity_details(const PipelineProblem& problem,
                                             std::span<const std::uint32_t> option,
                                             const Iteration& iteration);

}  // namespace perjoule
