// What one iteration takes when every instruction runs at a given option: simulated, with each
// instruction as early as its stage and its inputs allow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "pipeline/problem.h"

namespace perjoule {

struct Iteration {
  Ticks makespan = 0;
  std::vector<Ticks> start;     ///< by activity
  Joules energy;                ///< of all stages until the last has ended, waiting included
  Joules working;               ///< of it, while instructions ran
  Joules waiting;               ///< and while GPUs waited
  std::vector<Seconds> waited;  ///< by stage
  std::size_t switches = 0;     ///< neighbouring instructions of a stage at unlike settings
};

/// The setting in force while each activity runs, as an index into problem.knobs(): its option's
/// own; where the profile leaves the knobs of that empty (a data load that has none), what the
/// stage was left at, or, with nothing before it, will be at.
std::vector<std::uint32_t> settings_in_force(const PipelineProblem& problem,
                                             std::span<const std::uint32_t> option);

/// `option` names one of profiled(class).options for each activity. A stage that waits draws the
/// blocking power of the setting it was left at; before its first instruction, of the one it will
/// have. O(activities + precedences).
Iteration simulate_iteration(const PipelineProblem& problem, std::span<const std::uint32_t> option);

}  // namespace perjoule
