// An iteration of a pipeline as a chart in text: a stage takes two lines, time runs to the right.
//
//   0 |F0=F1=......B0====B1====|
//     |9---------0 5-----9-----| 2
//
// The upper line says what runs: the instruction's letter, its microbatch where there is room, then
// = where it has no slack (less than 1 %) and - where it could take longer; . where the stage
// waits. The lower one says the setting's level where it is set, and how often it changes; where
// several knobs vary, the number of the tuple, which the legend says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/units.h"
#include "pipeline/plan/iteration.h"
#include "pipeline/plan/problem.h"

namespace perjoule::cli {

struct GanttLook {
  std::size_t width = 100;  ///< columns of the time
  Seconds from;             ///< the part of the iteration that is shown
  Seconds until;            ///< above `from`
};

/// `option` is what `iteration` was simulated with. Plain ASCII, a scale and a legend below.
std::string gantt(const PipelineProblem& problem, std::span<const std::uint32_t> option,
                  const Iteration& iteration, const GanttLook& look);

}  // namespace perjoule::cli
