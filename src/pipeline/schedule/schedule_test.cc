#include "pipeline/schedule/schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <climits>
#include <cmath>
#include <random>

#include "pipeline/plan/problem.h"
#include "pipeline/schedule/schedule_deeds.h"
#include "pipeline/schedule/schedules.h"
#include "pipeline/solver/linear_program.h"

namespace perjoule {
namespace {

using testing::HasSubstr;

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

TEST(Schedule, SizesThatNoMachineHoldsAreRefusedBeforeAnythingIsBuilt) {
  for (const std::string_view name : schedule_names()) {
    SCOPED_TRACE(name);
    const bool is_interleaved = name == "interleaved";
    std::vector<ScheduleShape> shapes = {
        {.stages = 64, .microbatches = 1 << 30, .chunks = is_interleaved ? 1 << 20 : 1},
        {.stages = 1 << 20, .microbatches = 1 << 20, .chunks = is_interleaved ? 2 : 1},
        // Products that 32 and 64 bits wrap to 0.
        {.stages = 1 << 16, .microbatches = 1 << 16, .chunks = is_interleaved ? 1 << 16 : 1},
        {.stages = 1 << 30, .microbatches = 1 << 30, .chunks = is_interleaved ? 1 << 30 : 1},
        {.stages = INT_MAX, .microbatches = INT_MAX, .chunks = is_interleaved ? INT_MAX : 1},
    };
    // Few instructions, and a grid that grows with the stages.
    if (name == "early-recompute" || name == "zb-v") {
      shapes.push_back({.stages = 1'000'000, .microbatches = 1});
    }
    for (const ScheduleShape& shape : shapes) {
      const auto schedule = make_schedule(name, shape);
      ASSERT_FALSE(schedule);
      EXPECT_THAT(schedule.error().text(), HasSubstr("an iteration of "));
      EXPECT_THAT(schedule.error().text(), HasSubstr("of up to 50000000 are made"));
    }
  }
  const auto schedule =
      make_schedule("interleaved", {.stages = 1, .microbatches = 1'000'000, .chunks = 1'000'000});
  ASSERT_FALSE(schedule);
  EXPECT_THAT(schedule.error().text(), HasSubstr("an iteration of 2e+12 instructions"));
}

RC_GTEST_PROP(Schedule, IsNeverLargerThanItIsTakenFor, ()) {
  const auto name = *rc::gen::elementOf(schedule_names());
  ScheduleShape shape;
  shape.stages = *rc::gen::inRange(1, 9);
  shape.microbatches = *rc::gen::inRange(1, 30);
  shape.chunks = *rc::gen::inRange(2, 5);
  if (name == "interleaved") shape.microbatches *= shape.stages;
  shape = shape_for(name, shape);
  if (*rc::gen::arbitrary<bool>()) shape.load = "load";
  if (*rc::gen::arbitrary<bool>()) shape.stage_end = {"a", "b"};
  const auto schedule = make_schedule(name, shape);
  if (!schedule) return;
  RC_ASSERT(static_cast<double>(schedule->size()) <= most_instructions(name, shape));
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
