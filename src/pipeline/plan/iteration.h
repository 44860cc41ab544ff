// What one iteration takes when every instruction runs at a given option: simulated, with each
// instruction as early as its stage and its inputs allow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "pipeline/plan/problem.h"

namespace perjoule {

/// One stage's part of an iteration.
struct StageIteration {
  Seconds busy;
  Seconds waited;  ///< busy and waited are the iteration's time together
  Joules working;  ///< while instructions ran, and for changes of setting
  Joules waiting;  ///< while the stage waited
  /// Neighbouring instructions at unlike settings, the last one and the next iteration's first too.
  std::size_t switches = 0;
  Joules energy() const { return working + waiting; }
};

struct Iteration {
  Ticks makespan = 0;
  std::vector<Ticks> start;            ///< by activity
  std::vector<StageIteration> stages;  ///< the sums below are theirs
  Joules energy;                       ///< of all stages until the last has ended
  Joules working;
  Joules waiting;
  std::size_t switches = 0;
  /// What waiting took above the least blocking power, which bounds reckon with; and what all
  /// stages draw above it once they have ended. 0 where the blocking power is constant.
  Joules above_least;
  Watts left_above_least;
};

/// The setting in force while each activity runs, as an index into problem.knobs(): its option's
/// own; where the profile leaves the knobs of that empty (a data load that has none), what the
/// stage was left at, or, with nothing before it, will be at.
std::vector<std::uint32_t> settings_in_force(const PipelineProblem& problem,
                                             std::span<const std::uint32_t> option);

/// The activity before the i-th one of a stage in time; before the first that is the last one, for
/// iterations follow one another.
std::uint32_t activity_before(const PipelineSchedule& schedule, std::size_t stage, std::size_t i);

/// How long after the one before it on its stage each activity begins at the earliest: what a
/// change of setting takes. The first one of a stage begins so long behind the iteration, since the
/// one before it may end with the iteration before. Empty where changes take no time.
std::vector<Ticks> switch_setups(const PipelineProblem& problem,
                                 std::span<const std::uint32_t> force);

/// `option` names one of profiled(class).options for each activity. A stage that waits draws the
/// blocking power of the setting it was left at; before its first instruction, of the one it will
/// have. O(activities + precedences).
Iteration simulate_iteration(const PipelineProblem& problem, std::span<const std::uint32_t> option);

}  // namespace perjoule
