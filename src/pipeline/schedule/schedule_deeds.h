// What the steps of a schedule do, told apart anew from names and chunks, for the tests of
// schedules: which forward, which gradient of the input and which of the weights each of them is.
// Include in tests only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "pipeline/schedule/schedule.h"

namespace perjoule {

using Times = std::map<std::string, Ticks>;

inline std::vector<Ticks> durations_of(const PipelineSchedule& schedule, const Times& times) {
  std::vector<Ticks> durations;
  for (const auto& steps : schedule.stages) {
    for (const PipelineStep& step : steps) {
      durations.push_back(times.at(schedule.instructions[step.instruction]));
    }
  }
  return durations;
}

inline EarliestTimes run(const PipelineSchedule& schedule, const std::vector<Ticks>& durations) {
  const ActivityNetwork network = schedule.network();
  const auto order = network.topological_order();
  EXPECT_TRUE(order) << schedule.name;
  return earliest_times(network, *order, durations);
}

/// What the steps of a schedule do, told apart here anew: one entry for each forward, each gradient
/// of the input and each gradient of the weights.
struct Deed {
  char kind = 'F';  ///< F, B (input), W
  int part = 0;     ///< of the model, in the order of its layers
  int microbatch = 0;
  auto operator<=>(const Deed&) const = default;
};

inline int part_of(const PipelineSchedule& schedule, int stage, int chunk) {
  const int stages = schedule.shape.stages;
  if (schedule.name == "zb-v") return chunk == 0 ? stage : 2 * stages - 1 - stage;
  if (schedule.name == "dualpipe") return chunk == 0 ? stage : stages - 1 - stage;
  return chunk * stages + stage;
}

inline int last_part(const PipelineSchedule& schedule) {
  const int stages = schedule.shape.stages;
  return (schedule.name == "dualpipe" ? 1 : schedule.shape.chunks) * stages - 1;
}

inline bool splits_weights(const PipelineSchedule& schedule) {
  return schedule.name.starts_with("zb-");
}

inline std::vector<Deed> deeds_of(const PipelineSchedule& schedule, int stage,
                                  const PipelineStep& step) {
  const std::string& name = schedule.instructions[step.instruction];
  const int part = part_of(schedule, stage, step.chunk);
  const int m = step.microbatch;
  if (name == "forward") return {{'F', part, m}};
  if (name == "weight") return {{'W', part, m}};
  if (name == "backward-input") return {{'B', part, m}};
  if (name == "recomputation") return {};
  if (name == "forwardbackward" && step.backward_microbatch != PipelineStep::kNone) {
    const int other = part_of(schedule, stage, 1 - step.chunk);
    return {{'F', part, m},
            {'B', other, step.backward_microbatch},
            {'W', other, step.backward_microbatch}};
  }
  if (splits_weights(schedule)) return {{'B', part, m}};
  return {{'B', part, m}, {'W', part, m}};
}

/// Each deed's activity; fails where one is done twice.
inline std::map<Deed, std::uint32_t> activities_of(const PipelineSchedule& schedule) {
  std::map<Deed, std::uint32_t> activities;
  for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
    for (std::size_t i = 0; i < schedule.stages[stage].size(); ++i) {
      for (const Deed& deed :
           deeds_of(schedule, static_cast<int>(stage), schedule.stages[stage][i])) {
        const bool is_new = activities.emplace(deed, schedule.number(stage, i)).second;
        EXPECT_TRUE(is_new) << schedule.name << ' ' << deed.kind << deed.microbatch << " part "
                            << deed.part;
      }
    }
  }
  return activities;
}

/// The most microbatches (parts of them, where a stage has several) that a stage holds between a
/// forward and the gradient of its weights.
inline int most_in_flight(const PipelineSchedule& schedule, int stage) {
  int held = 0;
  int most = 0;
  for (const PipelineStep& step : schedule.stages[static_cast<std::size_t>(stage)]) {
    for (const Deed& deed : deeds_of(schedule, stage, step)) {
      if (deed.kind == 'F') most = std::max(most, ++held);
      if (deed.kind == 'W') --held;
    }
  }
  EXPECT_EQ(held, 0) << schedule.name;
  return most;
}

/// The shape with as many chunks as the schedule has.
inline ScheduleShape shape_for(std::string_view name, ScheduleShape shape) {
  if (name != "interleaved") shape.chunks = 1;
  return shape;
}

/// All schedules of a shape, where the shape is one for them.
inline std::vector<PipelineSchedule> all_schedules(const ScheduleShape& shape) {
  std::vector<PipelineSchedule> schedules;
  for (const std::string_view name : schedule_names()) {
    auto schedule = make_schedule(name, shape_for(name, shape));
    if (schedule) schedules.push_back(std::move(*schedule));
  }
  return schedules;
}

}  // namespace perjoule
