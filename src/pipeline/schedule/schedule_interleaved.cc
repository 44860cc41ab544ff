// Interleaved one forward, one backward (Narayanan et al. 2021; the order of Megatron-LM): each
// stage holds several chunks of the model, so that the pipeline is filled in a chunk's time rather
// than a stage's.
//
// Forwards go through the chunks in groups of as many microbatches as there are stages; backwards
// likewise, last chunk first.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "pipeline/schedule/schedules.h"

namespace perjoule {

Result<PipelineSchedule> interleaved(const ScheduleShape& shape) {
  if (shape.chunks < 2) {
    return Error::invalid_argument(
        fmt::format("interleaved with {} chunk a stage", shape.chunks),
        "a stage has 2 chunks or more (--chunks 2); with one, 1f1b is the schedule");
  }
  if (shape.microbatches % shape.stages != 0) {
    return Error::invalid_argument(
        fmt::format("interleaved with {} on {}", counted(shape.microbatches, "microbatch"),
                    counted(shape.stages, "stage")),
        "its microbatches go through in groups of as many as there are stages: take a multiple");
  }
  PipelineSchedule schedule("interleaved", shape, {"forward", "backward"});
  const int group = shape.stages * shape.chunks;
  const int total = shape.microbatches * shape.chunks;
  const auto step = [&](std::uint32_t instruction, int k) {
    const int chunk = k % group / shape.stages;
    return PipelineStep{instruction, instruction == kForward ? chunk : shape.chunks - 1 - chunk,
                        k / group * shape.stages + k % shape.stages};
  };
  for (int stage = 0; stage < shape.stages; ++stage) {
    auto& steps = schedule.stages.emplace_back();
    const int warm_up =
        std::min(2 * (shape.stages - stage - 1) + (shape.chunks - 1) * shape.stages, total);
    int forward = 0;
    int backward = 0;
    while (forward < warm_up) steps.push_back(step(kForward, forward++));
    while (forward < total) {
      steps.push_back(step(kForward, forward++));
      steps.push_back(step(kBackward, backward++));
    }
    while (backward < total) steps.push_back(step(kBackward, backward++));
  }
  finish_schedule(schedule, ModelLayout::kInTurn);
  return schedule;
}

}  // namespace perjoule
