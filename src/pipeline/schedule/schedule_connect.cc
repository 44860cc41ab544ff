// What all schedules have in common: the precedences between stages, and the instructions that any
// of them can have besides its own.
#include <algorithm>
#include <optional>

#include "base/text.h"
#include "pipeline/schedule/schedules.h"

namespace perjoule {
namespace {

/// Where an activity stands in the data's way: part of the model and microbatch.
struct Place {
  std::int64_t part = 0;
  int microbatch = 0;
  std::uint32_t activity = 0;
  bool operator<(const Place& other) const {
    return part != other.part ? part < other.part : microbatch < other.microbatch;
  }
};

class Parts {
 public:
  Parts(const PipelineSchedule& schedule, ModelLayout layout)
      : layout_(layout), stages_(static_cast<std::int64_t>(schedule.stages.size())) {}
  std::int64_t at(std::size_t stage_index, int chunk) const {
    const auto stage = static_cast<std::int64_t>(stage_index);
    switch (layout_) {
      case ModelLayout::kVShape:
        return chunk == 0 ? stage : 2 * stages_ - 1 - stage;
      case ModelLayout::kOpposite:
        return chunk == 0 ? stage : stages_ - 1 - stage;
      case ModelLayout::kInTurn:
        break;
    }
    return chunk * stages_ + stage;
  }

 private:
  ModelLayout layout_;
  std::int64_t stages_;
};

/// Finds activities by part and microbatch. Sorted rather than a table: an order file may name few
/// of many.
class PlaceIndex {
 public:
  void add(const Place& place) { places_.push_back(place); }
  void sort() { std::stable_sort(places_.begin(), places_.end()); }
  std::optional<std::uint32_t> find(std::int64_t part, int microbatch) const {
    const Place wanted{part, microbatch, 0};
    const auto at = std::lower_bound(places_.begin(), places_.end(), wanted);
    if (at == places_.end() || wanted < *at) return std::nullopt;
    return at->activity;
  }
  const std::vector<Place>& all() const { return places_; }

 private:
  std::vector<Place> places_;
};

void add_load(PipelineSchedule& schedule, const Parts& parts) {
  const auto load = static_cast<std::uint32_t>(schedule.instructions.size());
  std::vector<StepRole> roles;
  for (const std::string& name : schedule.instructions) roles.push_back(role_of(name));
  schedule.instructions.push_back(schedule.shape.load);
  for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
    std::vector<PipelineStep> steps;
    for (const PipelineStep& step : schedule.stages[stage]) {
      const bool forwards = roles[step.instruction] == StepRole::kPassesOn ||
                            step.backward_microbatch != PipelineStep::kNone;
      if (forwards && parts.at(stage, step.chunk) == 0) {
        steps.push_back({load, step.chunk, step.microbatch});
      }
      steps.push_back(step);
    }
    schedule.stages[stage] = std::move(steps);
  }
}

void add_stage_end(PipelineSchedule& schedule) {
  for (const std::string& name : schedule.shape.stage_end) {
    const auto number = static_cast<std::uint32_t>(schedule.instructions.size());
    schedule.instructions.push_back(name);
    for (auto& steps : schedule.stages) steps.push_back({number, 0, 0});
  }
}

void connect_parts(PipelineSchedule& schedule, const Parts& parts) {
  PlaceIndex forward;
  PlaceIndex backward;
  PlaceIndex weight;
  std::vector<StepRole> roles;
  for (const std::string& name : schedule.instructions) roles.push_back(role_of(name));
  std::vector<std::uint32_t> stage_of(schedule.size());
  for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
    for (std::size_t i = 0; i < schedule.stages[stage].size(); ++i) {
      const PipelineStep& step = schedule.stages[stage][i];
      const std::uint32_t activity = schedule.number(stage, i);
      stage_of[activity] = static_cast<std::uint32_t>(stage);
      const Place place{parts.at(stage, step.chunk), step.microbatch, activity};
      if (step.backward_microbatch != PipelineStep::kNone) {
        forward.add(place);
        backward.add({parts.at(stage, 1 - step.chunk), step.backward_microbatch, activity});
        continue;
      }
      switch (roles[step.instruction]) {
        case StepRole::kPassesOn:
          forward.add(place);
          break;
        case StepRole::kPassesBack:
          backward.add(place);
          break;
        case StepRole::kFollowsBackward:
          weight.add(place);
          break;
        case StepRole::kOther:
          break;
      }
    }
  }
  forward.sort();
  backward.sort();
  const auto wait = [&](std::optional<std::uint32_t> before, std::uint32_t after) {
    if (!before) return;
    // Within a stage the order keeps it; where the order is the other way about, the precedence
    // shows the circle.
    if (stage_of[*before] == stage_of[after] && *before < after) return;
    schedule.across.push_back({*before, after});
  };
  for (const Place& place : forward.all()) {
    wait(forward.find(place.part - 1, place.microbatch), place.activity);
  }
  for (const Place& place : backward.all()) {
    wait(forward.find(place.part, place.microbatch), place.activity);
    wait(backward.find(place.part + 1, place.microbatch), place.activity);
  }
  for (const Place& place : weight.all()) {
    wait(backward.find(place.part, place.microbatch), place.activity);
  }
}

}  // namespace

StepRole role_of(std::string_view instruction) {
  const auto is = [instruction](std::string_view name) {
    return equals_ignoring_case(instruction, name);
  };
  if (is("forward")) return StepRole::kPassesOn;
  if (is("backward") || is("backward-input") || is("forwardbackward")) return StepRole::kPassesBack;
  if (is("weight")) return StepRole::kFollowsBackward;
  return StepRole::kOther;
}

void finish_schedule(PipelineSchedule& schedule, ModelLayout layout) {
  const Parts parts(schedule, layout);
  if (!schedule.shape.load.empty()) add_load(schedule, parts);
  add_stage_end(schedule);
  schedule.number_activities();
  connect_parts(schedule, parts);
}

}  // namespace perjoule
