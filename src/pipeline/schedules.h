// The schedules that are built in, one function and one file each, and what they share.
#pragma once

#include "pipeline/schedule.h"

namespace perjoule {

/// Instructions of the schedules that know only these two.
inline constexpr std::uint32_t kForward = 0;
inline constexpr std::uint32_t kBackward = 1;

PipelineSchedule one_forward_one_backward(const ScheduleShape& shape);

/// Adds the precedences of activations and gradients to a schedule whose model runs through the
/// stages in order, chunk after chunk (virtual stage v = chunk x stages + stage): forward of v
/// waits for forward of v - 1, backward of v for backward of v + 1, and on the last virtual stage
/// backward for forward, each of the same microbatch.
void connect_stages(PipelineSchedule& schedule);

}  // namespace perjoule
