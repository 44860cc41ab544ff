// What plans are compared with, on the same types: every instruction at its highest clock, and all
// of them at one clock.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "pipeline/plan/iteration.h"
#include "pipeline/plan/problem.h"

namespace perjoule {

/// Whether a stands above b: by the number of the first knob (a clock), where that is none by time.
bool is_higher_setting(const KnobOption& a, const KnobOption& b);

/// The option of each activity at the highest setting of its profile: the highest number of the
/// first knob (a clock); where that is no number, the fastest.
std::vector<std::uint32_t> highest_settings(const PipelineProblem& problem);

/// One setting for all instructions.
struct UniformSetting {
  Config knob;
  std::vector<std::uint32_t> option;
};
/// All settings that every instruction has been measured at, in the profile's order.
std::vector<UniformSetting> uniform_settings(const PipelineProblem& problem);

/// The option of least energy of each instruction, whatever it takes: with no regard to time, the
/// most that could be saved (Perseus's "theoretical maximum").
std::vector<std::uint32_t> least_energy_settings(const PipelineProblem& problem);

}  // namespace perjoule
