// The schedules that are built in, one function and one file each, and what they share.
//
// Each fills in what a stage issues and hands over to finish_schedule(), which adds what the shape
// asks for besides, numbers the activities and makes the precedences between stages from what the
// instructions are called and how the model lies on the stages.
#pragma once

#include <string_view>

#include "pipeline/schedule/schedule.h"

namespace perjoule {

/// Instructions of the schedules that know only these two, and the first two of all others.
inline constexpr std::uint32_t kForward = 0;
inline constexpr std::uint32_t kBackward = 1;
/// Of the zero-bubble ones, whose backward is the gradient of the input alone.
inline constexpr std::uint32_t kWeight = 2;

PipelineSchedule one_forward_one_backward(const ScheduleShape& shape);

/// Order of GPipe's backwards.
enum class BackwardOrder { kReversed, kSame };
PipelineSchedule gpipe(const ScheduleShape& shape, BackwardOrder order);

PipelineSchedule early_recompute(const ScheduleShape& shape);

/// invalid_argument unless there are 2 chunks or more and the microbatches are a multiple of the
/// stages.
Result<PipelineSchedule> interleaved(const ScheduleShape& shape);

PipelineSchedule zero_bubble_h1(const ScheduleShape& shape);
PipelineSchedule zero_bubble_h2(const ScheduleShape& shape);
PipelineSchedule zero_bubble_v(const ScheduleShape& shape);

/// invalid_argument unless the stages are even, and the microbatches even and twice them or more.
Result<PipelineSchedule> dualpipe(const ScheduleShape& shape);

/// Instructions that the shape makes of a built-in schedule, or steps that it takes to make them,
/// where those are more: not less than either, and a double, which no product of counts is too
/// large for.
double most_instructions(std::string_view name, const ScheduleShape& shape);

/// Reads an order file (docs/formats.md): rows stage, instruction, microbatch, perhaps chunk and
/// after, in issue order by stage. Counts of `shape` that are 0 are the file's. Fails with
/// invalid_argument, file and line named, on a number that is none, a row that is there twice, gaps
/// in stages, microbatches or chunks, counts unlike the shape's, and an `after` that names no row.
/// An order that waits for itself is found where the problem is made.
Result<PipelineSchedule> parse_order(std::string_view text, std::string_view name,
                                     const ScheduleShape& shape);

/// What an instruction means for the data that go through the model; told by its name, in any case.
enum class StepRole {
  kPassesOn,         ///< forward: activations to the next part
  kPassesBack,       ///< backward, backward-input, forwardbackward: gradients to the part before
  kFollowsBackward,  ///< weight
  kOther,            ///< ordered by its stage alone
};
StepRole role_of(std::string_view instruction);

/// How the model's parts, in the order of its layers, lie on stages and their chunks.
enum class ModelLayout {
  kInTurn,    ///< part chunk x stages + stage: through all stages, chunk after chunk
  kVShape,    ///< chunk 0 from the first stage to the last, chunk 1 back
  kOpposite,  ///< the whole model twice: chunk 0 from first to last, chunk 1 from last to first
};

/// Adds load and stage_end of the shape, numbers the activities and connects the stages: forward
/// of a part waits for forward of the part before, backward for backward of the part behind and for
/// its own forward, weight for its own backward, each of the same microbatch. What the order of a
/// stage keeps anyway gets no precedence.
void finish_schedule(PipelineSchedule& schedule, ModelLayout layout);

}  // namespace perjoule
