// GPipe (Huang et al. 2019): all forwards, then all backwards; the last microbatch's gradient
// first, as its activations are the freshest, or in the order of the forwards.
#include "pipeline/schedule/schedules.h"

namespace perjoule {

PipelineSchedule gpipe(const ScheduleShape& shape, BackwardOrder order) {
  const bool reversed = order == BackwardOrder::kReversed;
  PipelineSchedule schedule(reversed ? "gpipe" : "gpipe-same-order", shape,
                            {"forward", "backward"});
  for (int stage = 0; stage < shape.stages; ++stage) {
    auto& steps = schedule.stages.emplace_back();
    for (int m = 0; m < shape.microbatches; ++m) steps.push_back({kForward, 0, m});
    for (int m = 0; m < shape.microbatches; ++m) {
      steps.push_back({kBackward, 0, reversed ? shape.microbatches - 1 - m : m});
    }
  }
  finish_schedule(schedule, ModelLayout::kInTurn);
  return schedule;
}

}  // namespace perjoule
