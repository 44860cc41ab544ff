#include "pipeline/schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

#include "pipeline/linear_program.h"
#include "pipeline/problem.h"
#include "pipeline/schedules.h"

namespace perjoule {
namespace {

using testing::HasSubstr;

using Times = std::map<std::string, Ticks>;

std::vector<Ticks> durations_of(const PipelineSchedule& schedule, const Times& times) {
  std::vector<Ticks> durations;
  for (const auto& steps : schedule.stages) {
    for (const PipelineStep& step : steps) {
      durations.push_back(times.at(schedule.instructions[step.instruction]));
    }
  }
  return durations;
}

EarliestTimes run(const PipelineSchedule& schedule, const std::vector<Ticks>& durations) {
  const ActivityNetwork network = schedule.network();
  const auto order = network.topological_order();
  EXPECT_TRUE(order) << schedule.name;
  return earliest_times(network, *order, durations);
}

Ticks makespan(std::string_view name, const ScheduleShape& shape, const Times& times) {
  const auto schedule = make_schedule(name, shape);
  EXPECT_TRUE(schedule) << schedule.error().text();
  return run(*schedule, durations_of(*schedule, times)).makespan;
}

/// What the steps of a schedule do, told apart here anew: one entry for each forward, each gradient
/// of the input and each gradient of the weights.
struct Deed {
  char kind = 'F';  ///< F, B (input), W
  int part = 0;     ///< of the model, in the order of its layers
  int microbatch = 0;
  auto operator<=>(const Deed&) const = default;
};

int part_of(const PipelineSchedule& schedule, int stage, int chunk) {
  const int stages = schedule.shape.stages;
  if (schedule.name == "zb-v") return chunk == 0 ? stage : 2 * stages - 1 - stage;
  if (schedule.name == "dualpipe") return chunk == 0 ? stage : stages - 1 - stage;
  return chunk * stages + stage;
}

int last_part(const PipelineSchedule& schedule) {
  const int stages = schedule.shape.stages;
  return (schedule.name == "dualpipe" ? 1 : schedule.shape.chunks) * stages - 1;
}

bool splits_weights(const PipelineSchedule& schedule) { return schedule.name.starts_with("zb-"); }

std::vector<Deed> deeds_of(const PipelineSchedule& schedule, int stage, const PipelineStep& step) {
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
std::map<Deed, std::uint32_t> activities_of(const PipelineSchedule& schedule) {
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
int most_in_flight(const PipelineSchedule& schedule, int stage) {
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
ScheduleShape shape_for(std::string_view name, ScheduleShape shape) {
  if (name != "interleaved") shape.chunks = 1;
  return shape;
}

/// All schedules of a shape, where the shape is one for them.
std::vector<PipelineSchedule> all_schedules(const ScheduleShape& shape) {
  std::vector<PipelineSchedule> schedules;
  for (const std::string_view name : schedule_names()) {
    auto schedule = make_schedule(name, shape_for(name, shape));
    if (schedule) schedules.push_back(std::move(*schedule));
  }
  return schedules;
}

/// Every microbatch does everything once on every part, and nothing before what it needs, whatever
/// the instructions take.
void expect_sound(const PipelineSchedule& schedule, unsigned seed) {
  SCOPED_TRACE(schedule.name);
  const auto activities = activities_of(schedule);
  const int last = last_part(schedule);
  const auto expected = static_cast<std::size_t>(3 * (last + 1) * schedule.shape.microbatches);
  EXPECT_EQ(activities.size(), expected);
  std::mt19937 random(seed);
  std::vector<Ticks> durations(schedule.size());
  for (Ticks& d : durations) d = std::uniform_int_distribution<Ticks>(1, 50)(random);
  const EarliestTimes times = run(schedule, durations);
  const auto expect_behind = [&](const Deed& deed, const Deed& needed) {
    const std::uint32_t a = activities.at(deed);
    const std::uint32_t b = activities.at(needed);
    if (a == b) return;  // both gradients in one instruction
    EXPECT_GE(times.start[a], times.start[b] + durations[b])
        << deed.kind << deed.microbatch << " part " << deed.part;
  };
  for (const auto& [deed, activity] : activities) {
    const auto [kind, part, m] = deed;
    if (kind == 'F' && part > 0) expect_behind(deed, {'F', part - 1, m});
    if (kind == 'B') expect_behind(deed, {'F', part, m});
    if (kind == 'B' && part < last) expect_behind(deed, {'B', part + 1, m});
    if (kind == 'W') expect_behind(deed, {'B', part, m});
  }
}

TEST(Schedule, EveryNameMakesOne) {
  for (const std::string_view name : schedule_names()) {
    const auto schedule =
        make_schedule(name, shape_for(name, {.stages = 4, .microbatches = 8, .chunks = 2}));
    ASSERT_TRUE(schedule) << name << ": " << schedule.error().text();
    EXPECT_EQ(schedule->name, name);
    EXPECT_EQ(schedule->stages.size(), 4U);
  }
  EXPECT_FALSE(make_schedule("2f2b", {.stages = 4, .microbatches = 8}));
  EXPECT_TRUE(make_schedule("ZB-H1", {.stages = 4, .microbatches = 8}));
}

RC_GTEST_PROP(Schedule, AllAreSoundInEveryShape, ()) {
  ScheduleShape shape;
  shape.stages = *rc::gen::inRange(1, 9);
  shape.chunks = *rc::gen::inRange(1, 4);
  shape.microbatches = *rc::gen::inRange(1, 21);
  if (*rc::gen::arbitrary<bool>()) shape.microbatches = shape.stages * *rc::gen::inRange(1, 4);
  const auto seed = *rc::gen::arbitrary<unsigned>();
  const auto schedules = all_schedules(shape);
  RC_ASSERT(schedules.size() >= 7U);  // all but interleaved and dualpipe go in any shape
  for (const PipelineSchedule& schedule : schedules) expect_sound(schedule, seed);
  RC_ASSERT(!testing::Test::HasFailure());
}

TEST(Schedule, ShapesThatAreNoneAreRefusedWithWhatToDo) {
  const auto refused = [](std::string_view name, const ScheduleShape& shape) {
    const auto schedule = make_schedule(name, shape);
    EXPECT_FALSE(schedule) << name;
    return schedule ? std::string() : schedule.error().text();
  };
  EXPECT_THAT(refused("interleaved", {.stages = 4, .microbatches = 6, .chunks = 2}),
              HasSubstr("multiple"));
  EXPECT_THAT(refused("interleaved", {.stages = 4, .microbatches = 8, .chunks = 1}),
              HasSubstr("--chunks 2"));
  EXPECT_THAT(refused("dualpipe", {.stages = 3, .microbatches = 8}), HasSubstr("even"));
  EXPECT_THAT(refused("dualpipe", {.stages = 4, .microbatches = 9}), HasSubstr("even"));
  EXPECT_THAT(refused("dualpipe", {.stages = 4, .microbatches = 6}), HasSubstr("twice"));
  EXPECT_THAT(refused("zb-h1", {.stages = 4, .microbatches = 8, .chunks = 2}),
              HasSubstr("interleaved"));
  EXPECT_THAT(refused("zb-v", {.stages = 4, .microbatches = 8, .chunks = 3}),
              HasSubstr("2 chunks"));
  EXPECT_THAT(refused("1f1b", {.stages = 0, .microbatches = 6}), HasSubstr("at least 1"));
  EXPECT_THAT(refused("1f1b", {.stages = 2, .microbatches = 2, .load = "forward"}),
              HasSubstr("a name of its own"));
  EXPECT_THAT(refused("1f1b", {.stages = 2, .microbatches = 2, .stage_end = {"a", "A"}}),
              HasSubstr("a name of its own"));
}

TEST(Schedule, MakespansOfEqualStagesAreTheKnownOnes) {
  for (const int stages : {1, 2, 3, 4, 8}) {
    for (const int microbatches : {1, 2, 4, 12, 16}) {
      const ScheduleShape shape{.stages = stages, .microbatches = microbatches};
      for (const Times& times :
           {Times{{"forward", 3}, {"backward", 5}}, Times{{"forward", 7}, {"backward", 7}}}) {
        const Ticks both = times.at("forward") + times.at("backward");
        const Ticks expected = (microbatches + stages - 1) * both;
        EXPECT_EQ(makespan("1f1b", shape, times), expected) << stages << 'x' << microbatches;
        EXPECT_EQ(makespan("gpipe", shape, times), expected);
        EXPECT_EQ(makespan("gpipe-same-order", shape, times), expected);
      }
    }
  }
}

TEST(Schedule, InterleavingDividesTheBubbleByTheChunks) {
  for (const int stages : {2, 4, 6}) {
    for (const int chunks : {2, 3, 4}) {
      for (const int groups : {1, 2, 5}) {
        const ScheduleShape shape{
            .stages = stages, .microbatches = groups * stages, .chunks = chunks};
        // A chunk's forward and backward: a chunks-th part of the stage's.
        const Times times{{"forward", 3}, {"backward", 6}};
        EXPECT_EQ(makespan("interleaved", shape, times),
                  (shape.microbatches * chunks + stages - 1) * 9)
            << stages << " stages, " << chunks << " chunks, " << groups << " groups";
      }
    }
  }
}

/// Time from a stage's first start to its last end without work.
Ticks bubble_within(const PipelineSchedule& schedule, const std::vector<Ticks>& durations,
                    const EarliestTimes& times, std::size_t stage) {
  const std::uint32_t first = schedule.number(stage, 0);
  const std::uint32_t last = schedule.number(stage, schedule.stages[stage].size() - 1);
  const Ticks work =
      std::accumulate(durations.begin() + first, durations.begin() + last + 1, Ticks{0});
  return times.start[last] + durations[last] - times.start[first] - work;
}

TEST(Schedule, ZeroBubbleH1LeavesForwardAndBackwardLessWeight) {
  for (const int stages : {2, 3, 4, 8}) {
    for (const int microbatches : {stages, 2 * stages, 4 * stages + 1}) {
      const ScheduleShape shape{.stages = stages, .microbatches = microbatches};
      EXPECT_EQ(makespan("zb-h1", shape, {{"forward", 5}, {"backward", 5}, {"weight", 5}}),
                microbatches * 15 + (stages - 1) * 5)
          << stages << 'x' << microbatches;
    }
  }
}

TEST(Schedule, ZeroBubbleH2AndVHaveNoneWithEqualTimesAndEnoughMicrobatches) {
  for (const int stages : {2, 3, 4, 8}) {
    for (const int microbatches : {2 * stages - 1, 2 * stages, 5 * stages}) {
      const ScheduleShape shape{.stages = stages, .microbatches = microbatches};
      for (const std::string_view name : {"zb-h2", "zb-v"}) {
        const auto schedule = make_schedule(name, shape);
        ASSERT_TRUE(schedule);
        const auto durations =
            durations_of(*schedule, {{"forward", 5}, {"backward", 5}, {"weight", 5}});
        const EarliestTimes times = run(*schedule, durations);
        for (std::size_t stage = 0; stage < schedule->stages.size(); ++stage) {
          EXPECT_EQ(bubble_within(*schedule, durations, times, stage), 0)
              << name << ' ' << stages << 'x' << microbatches << " stage " << stage;
        }
        // Stages begin and end one behind the other.
        EXPECT_EQ(times.makespan, microbatches * 15 * schedule->shape.chunks + (stages - 1) * 5);
      }
    }
  }
}

TEST(Schedule, DualPipeHasThePublishedBubble) {
  for (const int stages : {2, 4, 8, 16}) {
    for (const int microbatches : {2 * stages, 2 * stages + 2, 5 * stages}) {
      const ScheduleShape shape{.stages = stages, .microbatches = microbatches};
      const Times times{{"forward", 10},
                        {"backward", 20},
                        {"backward-input", 10},
                        {"weight", 10},
                        {"forwardbackward", 30}};
      EXPECT_EQ(makespan("dualpipe", shape, times),
                microbatches * 30 + (stages / 2 - 1) * (30 + 20 - 3 * 10))
          << stages << 'x' << microbatches;
    }
  }
}

TEST(Schedule, MemoryStaysWithinWhatEachPromises) {
  for (const int stages : {2, 4, 8}) {
    const int microbatches = 5 * stages;
    const auto of = [&](std::string_view name, int chunks = 1) {
      return *make_schedule(name,
                            {.stages = stages, .microbatches = microbatches, .chunks = chunks});
    };
    for (int stage = 0; stage < stages; ++stage) {
      EXPECT_EQ(most_in_flight(of("1f1b"), stage), stages - stage);
      EXPECT_EQ(most_in_flight(of("early-recompute"), stage), stages - stage);
      EXPECT_EQ(most_in_flight(of("gpipe"), stage), microbatches);
      EXPECT_EQ(most_in_flight(of("zb-h1"), stage), stages);
      EXPECT_EQ(most_in_flight(of("zb-h2"), stage), 2 * stages - 1);
      // Parts of half a stage: as much as 1F1B's first stage holds.
      EXPECT_EQ(most_in_flight(of("zb-v"), stage), 2 * stages);
      EXPECT_LE(most_in_flight(of("dualpipe"), stage), stages + 1);
      EXPECT_EQ(most_in_flight(of("interleaved", 3), stage),
                2 * (stages - stage - 1) + 2 * stages + 1);
    }
  }
}

std::string text_of(const PipelineSchedule& schedule, std::size_t stage) {
  std::string text;
  for (const PipelineStep& step : schedule.stages[stage]) {
    const std::string& name = schedule.instructions[step.instruction];
    text += text.empty() ? "" : " ";
    text +=
        name == "forwardbackward" ? "X" : std::string(1, static_cast<char>(std::toupper(name[0])));
    text += std::to_string(step.microbatch);
    if (step.backward_microbatch != PipelineStep::kNone) {
      text += "+" + std::to_string(step.backward_microbatch);
    }
  }
  return text;
}

TEST(Schedule, EarlyRecomputationIsMeraks) {
  // The artifact's generator, 3 stages and 4 microbatches; X is recomputation and backward in one.
  const auto schedule = make_schedule("early-recompute", {.stages = 3, .microbatches = 4});
  ASSERT_TRUE(schedule);
  EXPECT_EQ(text_of(*schedule, 0), "F0 F1 F2 X0 F3 X1 R2 B2 R3 B3");
  EXPECT_EQ(text_of(*schedule, 1), "F0 F1 X0 F2 X1 F3 X2 R3 B3");
  EXPECT_EQ(text_of(*schedule, 2), "F0 X0 F1 X1 F2 X2 F3 X3");
}

TEST(Schedule, DualPipeIsTheReferencesOrder) {
  // S = 4, M = 8: DualPipe.step() on ranks 0 and 1; microbatches 4 to 7 come the other way.
  const auto schedule = make_schedule("dualpipe", {.stages = 4, .microbatches = 8});
  ASSERT_TRUE(schedule);
  EXPECT_EQ(text_of(*schedule, 0), "F0 F1 F2 F4 B4 W4 F5 X3+5 X6+0 B6 X7+1 B7 B2 W2 B3 W3");
  EXPECT_EQ(text_of(*schedule, 1), "F0 F4 F1 F5 F2 B4 X6+0 X3+5 X7+1 B6 B2 B7 B3 W7 W3");
}

TEST(Schedule, ConstantInstructionsStandWhereDataEnterAndStagesEnd) {
  for (const PipelineSchedule& plain :
       all_schedules({.stages = 4, .microbatches = 8, .chunks = 2})) {
    ScheduleShape shape = shape_for(plain.name, {.stages = 4, .microbatches = 8, .chunks = 2});
    shape.load = "load";
    shape.stage_end = {"all-reduce", "optimizer"};
    const auto schedule = make_schedule(plain.name, shape);
    ASSERT_TRUE(schedule) << schedule.error().text();
    SCOPED_TRACE(plain.name);
    EXPECT_EQ(schedule->size(), plain.size() + 8 + 2 * 4);
    EXPECT_TRUE(schedule->network().topological_order());
    int loads = 0;
    for (std::size_t stage = 0; stage < 4; ++stage) {
      const auto& steps = schedule->stages[stage];
      const auto name = [&](std::size_t i) { return schedule->instructions[steps[i].instruction]; };
      EXPECT_EQ(name(steps.size() - 2), "all-reduce");
      EXPECT_EQ(name(steps.size() - 1), "optimizer");
      for (std::size_t i = 0; i < steps.size(); ++i) {
        if (name(i) != "load") continue;
        ++loads;
        EXPECT_THAT(name(i + 1), testing::StartsWith("forward"));
        EXPECT_EQ(steps[i + 1].microbatch, steps[i].microbatch);
        EXPECT_TRUE(stage == 0 || plain.name == "dualpipe");
      }
    }
    EXPECT_EQ(loads, 8);
  }
}

/// A profile for the instructions of a schedule: four options a class, unlike from class to class;
/// "optimizer" has one.
PipelineProfile profile_for(const PipelineSchedule& schedule) {
  std::vector<ProfiledInstruction> instructions;
  for (int stage = 0; stage < schedule.shape.stages; ++stage) {
    for (int chunk = 0; chunk < schedule.shape.chunks; ++chunk) {
      for (std::size_t i = 0; i < schedule.instructions.size(); ++i) {
        ProfiledInstruction one{stage, chunk, schedule.instructions[i], {}};
        const double base =
            0.01 * (1 + 0.13 * stage + 0.29 * static_cast<double>(i) + 0.07 * chunk);
        const int options = one.name == "optimizer" ? 1 : 4;
        for (int k = 0; k < options; ++k) {
          const double slower = 1 + 0.2 * k;
          Config knob;
          knob.set("clock", std::to_string(1400 - 200 * k));
          one.options.push_back({knob,
                                 Seconds(base * slower),
                                 Joules(base * (80 * slower + 220 / slower)),
                                 {},
                                 {},
                                 1});
        }
        instructions.push_back(std::move(one));
      }
    }
  }
  return *PipelineProfile::make(std::move(instructions), "profile");
}

TEST(Schedule, TheSolverAgreesWithLinearProgrammingOnEachOfThem) {
  for (const PipelineSchedule& plain :
       all_schedules({.stages = 2, .microbatches = 4, .chunks = 2})) {
    SCOPED_TRACE(plain.name);
    ScheduleShape shape = shape_for(plain.name, {.stages = 2, .microbatches = 4, .chunks = 2});
    shape.load = "load";
    shape.stage_end = {"optimizer"};
    const auto schedule = make_schedule(plain.name, shape);
    ASSERT_TRUE(schedule);
    const PipelineProfile profile = profile_for(*schedule);
    const auto problem = PipelineProblem::make(profile, *schedule, {Watts(70), {}});
    ASSERT_TRUE(problem) << problem.error().text();
    const auto frontier = problem->solve();
    ASSERT_TRUE(frontier);
    EXPECT_LT(frontier->shortest(), frontier->longest());
    double before = INFINITY;
    for (int i = 0; i <= 6; ++i) {
      const Ticks t = frontier->shortest() + (frontier->longest() - frontier->shortest()) * i / 6;
      const double cost = frontier->cost_at(t);
      EXPECT_LE(cost, before);
      before = cost;
      const auto least =
          least_cost_by_lp(problem->network(), problem->class_of(), problem->curves(), t);
      ASSERT_TRUE(least);
      EXPECT_NEAR(cost, *least, 1e-6 * std::abs(*least));
    }
  }
}

TEST(Schedule, RenumberingIdenticalMicrobatchesChangesNothing) {
  for (const PipelineSchedule& schedule :
       all_schedules({.stages = 4, .microbatches = 8, .chunks = 2})) {
    SCOPED_TRACE(schedule.name);
    // DualPipe's halves enter from different ends.
    std::vector<int> number = {3, 1, 0, 2, 6, 7, 5, 4};
    PipelineSchedule other(schedule.name, schedule.shape, schedule.instructions);
    other.stages = schedule.stages;
    for (auto& steps : other.stages) {
      for (PipelineStep& step : steps) {
        step.microbatch = number[static_cast<std::size_t>(step.microbatch)];
        if (step.backward_microbatch != PipelineStep::kNone) {
          step.backward_microbatch = number[static_cast<std::size_t>(step.backward_microbatch)];
        }
      }
    }
    finish_schedule(other, schedule.name == "zb-v"       ? ModelLayout::kVShape
                           : schedule.name == "dualpipe" ? ModelLayout::kOpposite
                                                         : ModelLayout::kInTurn);
    const PipelineProfile profile = profile_for(schedule);
    const auto one = PipelineProblem::make(profile, schedule, {Watts(70), {}})->solve();
    const auto two = PipelineProblem::make(profile, other, {Watts(70), {}})->solve();
    ASSERT_TRUE(one && two);
    ASSERT_EQ(one->corners().size(), two->corners().size());
    for (std::size_t i = 0; i < one->corners().size(); ++i) {
      EXPECT_EQ(one->corners()[i].makespan, two->corners()[i].makespan);
      EXPECT_EQ(one->corners()[i].flow, two->corners()[i].flow);
    }
  }
}

}  // namespace
}  // namespace perjoule
