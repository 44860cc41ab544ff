// One forward, one backward (PipeDream-Flush; the order of DeepSpeed and Megatron-LM): each stage
// warms up with as many forwards as there are stages behind it, then alternates.
#include <algorithm>

#include "pipeline/schedule/schedules.h"

namespace perjoule {

PipelineSchedule one_forward_one_backward(const ScheduleShape& shape) {
  PipelineSchedule schedule("1f1b", shape, {"forward", "backward"});
  for (int stage = 0; stage < shape.stages; ++stage) {
    auto& steps = schedule.stages.emplace_back();
    const int warm_up = std::min(shape.stages - stage - 1, shape.microbatches);
    int forward = 0;
    int backward = 0;
    while (forward < warm_up) steps.push_back({kForward, 0, forward++});
    while (forward < shape.microbatches) {
      steps.push_back({kForward, 0, forward++});
      steps.push_back({kBackward, 0, backward++});
    }
    while (backward < shape.microbatches) steps.push_back({kBackward, 0, backward++});
  }
  finish_schedule(schedule, ModelLayout::kInTurn);
  return schedule;
}

}  // namespace perjoule
