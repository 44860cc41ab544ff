// Zero bubble H1 and H2 (Qi et al., "Zero Bubble Pipeline Parallelism", 2023): a backward is split
// into the gradient of the input ("backward"), for which the stage before waits, and that of the
// weights ("weight"), for which nobody waits and which fills what would be a bubble.
//
// On stage s of S, H1 warms up with S - s forwards as 1F1B does, and its weight gradients follow
// their backward s microbatches late: microbatches in flight (forward done, weight gradient not)
// are S on every stage, the bubble (S - 1)(F + B - W). H2 warms up with 2 (S - s) - 1 forwards and
// is 2 s late: 2 S - 1 in flight, the bubble (S - 1)(F + B - 2 W); stages end one behind the other
// as they began.
#include <algorithm>

#include "pipeline/schedule/schedules.h"

namespace perjoule {
namespace {

std::vector<PipelineStep> steps_of(int microbatches, int warm_up, int late) {
  std::vector<PipelineStep> steps;
  int forward = 0;
  while (forward < std::min(warm_up, microbatches)) steps.push_back({kForward, 0, forward++});
  for (int m = 0; m < microbatches; ++m) {
    steps.push_back({kBackward, 0, m});
    if (m >= late) steps.push_back({kWeight, 0, m - late});
    if (forward < microbatches) steps.push_back({kForward, 0, forward++});
  }
  for (int m = std::max(0, microbatches - late); m < microbatches; ++m) {
    steps.push_back({kWeight, 0, m});
  }
  return steps;
}

}  // namespace

PipelineSchedule zero_bubble_h1(const ScheduleShape& shape) {
  PipelineSchedule schedule("zb-h1", shape, {"forward", "backward", "weight"});
  for (int stage = 0; stage < shape.stages; ++stage) {
    schedule.stages.push_back(steps_of(shape.microbatches, shape.stages - stage, stage));
  }
  finish_schedule(schedule, ModelLayout::kInTurn);
  return schedule;
}

PipelineSchedule zero_bubble_h2(const ScheduleShape& shape) {
  PipelineSchedule schedule("zb-h2", shape, {"forward", "backward", "weight"});
  for (int stage = 0; stage < shape.stages; ++stage) {
    schedule.stages.push_back(
        steps_of(shape.microbatches, 2 * (shape.stages - stage) - 1, 2 * stage));
  }
  finish_schedule(schedule, ModelLayout::kInTurn);
  return schedule;
}

}  // namespace perjoule
