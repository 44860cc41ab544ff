#include "pipeline/schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "pipeline/schedules.h"

namespace perjoule {

void PipelineSchedule::number_activities() {
  first_.assign(1, 0);
  for (const auto& steps : stages) {
    first_.push_back(first_.back() + static_cast<std::uint32_t>(steps.size()));
  }
}

std::string PipelineSchedule::describe(std::uint32_t activity) const {
  const auto stage = static_cast<std::size_t>(
      std::upper_bound(first_.begin(), first_.end(), activity) - first_.begin() - 1);
  const PipelineStep& step = stages[stage][activity - first_[stage]];
  const std::string chunk = shape.chunks > 1 ? fmt::format(", chunk {}", step.chunk) : "";
  return fmt::format("{} {} of stage {}{}", instructions[step.instruction], step.microbatch, stage,
                     chunk);
}

ActivityNetwork PipelineSchedule::network() const {
  std::vector<Precedence> all = across;
  all.reserve(across.size() + size());
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    for (std::size_t i = 1; i < stages[stage].size(); ++i) {
      all.push_back({number(stage, i - 1), number(stage, i)});
    }
  }
  return ActivityNetwork(size(), all);
}

void connect_stages(PipelineSchedule& schedule) {
  const auto chunks = static_cast<std::size_t>(schedule.shape.chunks);
  const std::size_t stages = schedule.stages.size();
  const std::size_t last = chunks * stages - 1;
  const auto microbatches = static_cast<std::size_t>(schedule.shape.microbatches);
  constexpr std::uint32_t kAbsent = UINT32_MAX;
  std::vector<std::uint32_t> forward((last + 1) * microbatches, kAbsent);
  std::vector<std::uint32_t> backward = forward;
  for (std::size_t stage = 0; stage < stages; ++stage) {
    for (std::size_t i = 0; i < schedule.stages[stage].size(); ++i) {
      const PipelineStep& step = schedule.stages[stage][i];
      const std::size_t v = static_cast<std::size_t>(step.chunk) * stages + stage;
      const std::size_t at = v * microbatches + static_cast<std::size_t>(step.microbatch);
      if (step.instruction == kForward) forward[at] = schedule.number(stage, i);
      if (step.instruction == kBackward) backward[at] = schedule.number(stage, i);
    }
  }
  const auto wait = [&](std::uint32_t before, std::uint32_t after) {
    if (before != kAbsent && after != kAbsent) schedule.across.push_back({before, after});
  };
  for (std::size_t v = 0; v <= last; ++v) {
    for (std::size_t m = 0; m < microbatches; ++m) {
      const std::size_t at = v * microbatches + m;
      if (v < last) {
        wait(forward[at], forward[at + microbatches]);
        wait(backward[at + microbatches], backward[at]);
      } else if (stages > 1) {
        wait(forward[at], backward[at]);
      }
    }
  }
}

const std::vector<std::string_view>& schedule_names() {
  static const std::vector<std::string_view> names = {"1f1b"};
  return names;
}

Result<PipelineSchedule> make_schedule(std::string_view name, const ScheduleShape& shape) {
  if (shape.stages < 1 || shape.microbatches < 1 || shape.chunks < 1) {
    return Error::invalid_argument(
        fmt::format("a pipeline of {} stages, {} microbatches, {} chunks a stage", shape.stages,
                    shape.microbatches, shape.chunks),
        "each is at least 1");
  }
  if (equals_ignoring_case(name, "1f1b")) return one_forward_one_backward(shape);
  return Error::invalid_argument(fmt::format("no schedule is called '{}'", name),
                                 fmt::format("there are {}", fmt::join(schedule_names(), ", ")));
}

}  // namespace perjoule
