#include "pipeline/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "pipeline/schedule/schedules.h"

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
  const std::string both = step.backward_microbatch == PipelineStep::kNone
                               ? ""
                               : fmt::format("+{}", step.backward_microbatch);
  return fmt::format("{} {}{} of stage {}{}", instructions[step.instruction], step.microbatch, both,
                     stage, chunk);
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

const std::vector<std::string_view>& schedule_names() {
  static const std::vector<std::string_view> names = {
      "1f1b",  "gpipe", "gpipe-same-order", "early-recompute", "interleaved", "zb-h1",
      "zb-h2", "zb-v",  "dualpipe"};
  return names;
}

namespace {

Outcome check_chunks(std::string_view name, int chunks) {
  if (chunks == 1 || equals_ignoring_case(name, "interleaved")) return {};
  const bool has_two = equals_ignoring_case(name, "zb-v") || equals_ignoring_case(name, "dualpipe");
  if (has_two && chunks == 2) return {};
  return Error::invalid_argument(
      fmt::format("{} with {} chunks a stage", name, chunks),
      has_two ? "it has 2 chunks" : "a stage of it has one; interleaved takes any number");
}

}  // namespace

double most_instructions(std::string_view name, const ScheduleShape& shape) {
  const auto is = [name](std::string_view other) { return equals_ignoring_case(name, other); };
  const double stages = shape.stages;
  const double microbatches = shape.microbatches;
  double a_stage = 2 * microbatches;  // forward and backward
  if (is("interleaved")) a_stage *= shape.chunks;
  if (is("zb-h1") || is("zb-h2")) a_stage = 3 * microbatches;
  // At most: a backward-input and a weight in place of a backward.
  if (is("dualpipe")) a_stage = 3 * microbatches;
  // On a grid of steps, some of which are empty.
  if (is("early-recompute")) a_stage = 2 * (microbatches + stages) + microbatches;
  // Counters run through twice the stages, however few the microbatches.
  if (is("zb-v")) a_stage = 6 * std::max(microbatches, 2 * stages);
  const double loads = shape.load.empty() ? 0 : microbatches;
  return stages * (a_stage + static_cast<double>(shape.stage_end.size())) + loads;
}

namespace {

Outcome check_size(std::string_view name, double instructions) {
  if (instructions <= static_cast<double>(kMostInstructions)) return {};
  return Error::invalid_argument(
      fmt::format("{}: an iteration of {:.3g} instructions", name, instructions),
      fmt::format("schedules of up to {} are made; an order repeats itself, so that a part of its "
                  "microbatches shows what all of them do",
                  kMostInstructions));
}

Result<PipelineSchedule> built_in(std::string_view name, const ScheduleShape& shape) {
  if (shape.stages < 1 || shape.microbatches < 1 || shape.chunks < 1) {
    return Error::invalid_argument(
        fmt::format("a pipeline of {}, {}, {} a stage", counted(shape.stages, "stage"),
                    counted(shape.microbatches, "microbatch"), counted(shape.chunks, "chunk")),
        "each is at least 1");
  }
  PJ_CHECK(check_chunks(name, shape.chunks));
  PJ_CHECK(check_size(name, most_instructions(name, shape)));
  const auto is = [name](std::string_view other) { return equals_ignoring_case(name, other); };
  if (is("1f1b")) return one_forward_one_backward(shape);
  if (is("gpipe")) return gpipe(shape, BackwardOrder::kReversed);
  if (is("gpipe-same-order")) return gpipe(shape, BackwardOrder::kSame);
  if (is("early-recompute")) return early_recompute(shape);
  if (is("interleaved")) return interleaved(shape);
  if (is("zb-h1")) return zero_bubble_h1(shape);
  if (is("zb-h2")) return zero_bubble_h2(shape);
  if (is("zb-v")) return zero_bubble_v(shape);
  return dualpipe(shape);
}

Result<PipelineSchedule> from_file(std::string_view name, const ScheduleShape& shape) {
  const std::string path(name);
  const auto text = read_file(path);
  if (text) return parse_order(*text, path, shape);
  if (text.error().code != ErrorCode::kNotFound) return fail(text);
  return Error::invalid_argument(
      fmt::format("no schedule is called '{}', nor is there a file of that name", name),
      fmt::format("the names are {}; docs/formats.md has what an order file holds",
                  fmt::join(schedule_names(), ", ")));
}

/// What takes a constant time must not pass for what the schedule issues itself.
Outcome check_names(const ScheduleShape& shape, std::size_t issued,
                    const std::vector<std::string>& names) {
  for (std::size_t i = issued; i < names.size(); ++i) {
    for (std::size_t other = 0; other < i; ++other) {
      if (!equals_ignoring_case(names[i], names[other])) continue;
      return Error::invalid_argument(
          fmt::format("instruction '{}' stands in the order twice: {}", names[i],
                      names[i] == shape.load ? "as data load" : "at the end of each stage"),
          "give what is added to a schedule a name of its own");
    }
  }
  return {};
}

}  // namespace

Result<PipelineSchedule> make_schedule(std::string_view name, const ScheduleShape& shape) {
  const auto& names = schedule_names();
  const bool known = std::any_of(names.begin(), names.end(), [name](std::string_view other) {
    return equals_ignoring_case(name, other);
  });
  Result<PipelineSchedule> schedule = known ? built_in(name, shape) : from_file(name, shape);
  if (!schedule) return schedule;
  const std::size_t added = shape.stage_end.size() + (shape.load.empty() ? 0 : 1);
  PJ_CHECK(check_names(shape, schedule->instructions.size() - added, schedule->instructions));
  return schedule;
}

}  // namespace perjoule
