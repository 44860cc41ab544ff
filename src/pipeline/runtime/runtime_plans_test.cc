#include "pipeline/runtime/runtime_plans.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

/// Two stages; time as 1/clock, power with its cube; the second stage `heavier`.
PipelineProfile profile_of(double heavier) {
  std::vector<ProfiledInstruction> instructions;
  for (int stage = 0; stage < 2; ++stage) {
    for (const auto& [name, work] : {std::pair{"forward", 0.03}, {"backward", 0.06}}) {
      ProfiledInstruction one{stage, 0, name, {}};
      for (const int clock : {1410, 1320, 1230, 1140, 1050, 960}) {
        const double speed = clock / 1410.0;
        const double time = work * (stage == 1 ? heavier : 1) / speed;
        Config knob;
        knob.set("clock", std::to_string(clock) + " MHz");
        one.options.push_back(
            {knob, Seconds(time), Joules(time * (90 + 230 * speed * speed * speed)), {}, {}});
      }
      instructions.push_back(std::move(one));
    }
  }
  return *PipelineProfile::make(std::move(instructions), "test");
}

TEST(RuntimePlans, TheUsualPlanAgainIsAsGoodAsPlanningAnew) {
  const auto schedule = make_schedule("1f1b", {.stages = 2, .microbatches = 8});
  ASSERT_TRUE(schedule);
  const BlockingPower power{Watts(70), {}};
  for (const double margin : {0.0, 0.01}) {
    const RuntimePlans::Request request{.margin = margin};
    const auto before = RuntimePlans::make(profile_of(1.15), power, *schedule, request);
    ASSERT_TRUE(before);
    for (const double heavier : {1.0, 1.1, 1.2, 1.4}) {
      const PipelineProfile changed = profile_of(heavier);
      const auto anew = RuntimePlans::make(changed, power, *schedule, request);
      ASSERT_TRUE(anew);
      const auto again = (*before)->replan_usual(changed, power, request);
      ASSERT_TRUE(again) << again.error().text();
      EXPECT_LE(again->time.value(), (*anew)->highest().time.value() * (1 + 1e-9)) << heavier;
      EXPECT_NEAR(again->energy / (*anew)->usual().energy, 1, 0.005) << heavier;
      EXPECT_LT(again->energy, (*anew)->highest().energy) << heavier;
    }
  }
}

}  // namespace
}  // namespace perjoule
