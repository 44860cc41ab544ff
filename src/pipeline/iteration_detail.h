// What an iteration is made of, by stage and by instruction: for tables, charts and files.
//
//   const auto steps = activity_details(problem, option, iteration);
//   steps[problem.schedule().number(2, 0)].slack;   // of the first instruction of stage 2
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "pipeline/iteration.h"
#include "pipeline/problem.h"

namespace perjoule {

struct ActivityDetail {
  Ticks start = 0;
  Ticks end = 0;
  Ticks slack = 0;         ///< so much later it could end without the iteration taking longer
  std::uint32_t knob = 0;  ///< into problem.knobs()
  bool switched = false;   ///< its setting is not that of the instruction before it on its stage
};

/// By activity. `option` is what `iteration` was simulated with.
std::vector<ActivityDetail> activity_details(const PipelineProblem& problem,
                                             std::span<const std::uint32_t> option,
                                             const Iteration& iteration);

struct StageDetail {
  Seconds busy;
  Seconds waited;  ///< busy and waited are the iteration's time together
  Joules working;  ///< while instructions ran
  Joules waiting;  ///< while the stage waited
  std::size_t switches = 0;
  Joules energy() const { return working + waiting; }
};

/// By stage; the sums are the iteration's.
std::vector<StageDetail> stage_details(const PipelineProblem& problem,
                                       std::span<const std::uint32_t> option,
                                       const Iteration& iteration);

}  // namespace perjoule
