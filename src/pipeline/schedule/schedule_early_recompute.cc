// One forward, one backward with early recomputation (Merak, Lai et al. 2023; as the research
// artifact of Perseus has it): activations are recomputed, and where the stage would wait for a
// gradient it recomputes before that has come.
//
// On the grid of 2 (M + S - 1) steps, stage s has forward m at step s + 2 m and backward m at step
// 2 S - 1 - s + 2 m. A backward whose forward ran long before is "forwardbackward", recomputation
// and backward in one; those of the last S - s - 1 microbatches have kept their activations and are
// plain. Where the step before a backward is empty, "recomputation" of its microbatch stands there,
// on all stages but the last.
#include "pipeline/schedule/schedules.h"

namespace perjoule {

PipelineSchedule early_recompute(const ScheduleShape& shape) {
  constexpr std::uint32_t kFused = 2;
  constexpr std::uint32_t kRecomputation = 3;
  PipelineSchedule schedule("early-recompute", shape,
                            {"forward", "backward", "forwardbackward", "recomputation"});
  const int total = 2 * (shape.microbatches + shape.stages - 1);
  for (int stage = 0; stage < shape.stages; ++stage) {
    auto& steps = schedule.stages.emplace_back();
    bool idle = true;  // before the first step there is none
    for (int step = 0; step < total; ++step) {
      // Both grids have two steps a microbatch, and 2 S - 1 - s is odd where s is even.
      const bool is_forward = (step - stage) % 2 == 0;
      const int offset = step - (is_forward ? stage : 2 * shape.stages - 1 - stage);
      const int microbatch = offset / 2;
      if (offset < 0 || microbatch >= shape.microbatches) {
        idle = true;
        continue;
      }
      if (is_forward) {
        steps.push_back({kForward, 0, microbatch});
      } else {
        if (idle && stage < shape.stages - 1) steps.push_back({kRecomputation, 0, microbatch});
        const bool kept = microbatch > shape.microbatches - shape.stages + stage;
        steps.push_back({kept ? kBackward : kFused, 0, microbatch});
      }
      idle = false;
    }
  }
  finish_schedule(schedule, ModelLayout::kInTurn);
  return schedule;
}

}  // namespace perjoule
