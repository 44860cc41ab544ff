#include "fleet/engine/table_steps.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

constexpr std::string_view kEngines = "model,gpu,tp,cache_tokens,idle_w\nm,g,2,1000,150\n";
constexpr std::string_view kSteps =
    "model,gpu,tp,phase,amount,time_ms,power_w\n"
    "m,g,2,prefill,100,20,1000\nm,g,2,prefill,200,40,1200\n"
    "m,g,2,decode,10,10,500\nm,g,2,decode,20,12,600\n";
constexpr std::string_view kClocks =
    "gpu,tokens,clock_mhz,time_factor,energy_factor\n"
    "g,10,1000,2,0.8\ng,110,1000,3,0.9\ng,10,2000,1,1\n";

StepBatch batch(std::int64_t decodes, std::int64_t prefill) {
  StepBatch one;
  one.decodes = decodes;
  one.prefill_tokens = prefill;
  return one;
}

TEST(TableStepsTest, StepsLieOnTheTablesLines) {
  const auto models = table_steps({kEngines, kSteps, kClocks});
  ASSERT_TRUE(models) << models.error().text();
  ASSERT_EQ(models->size(), 1U);
  const StepModel& model = *models->front();
  EXPECT_EQ(model.traits().layout.gpus(), 2);
  EXPECT_EQ(model.traits().clocks_mhz, (std::vector<double>{1000, 2000}));
  EXPECT_EQ(model.traits().cache_tokens, 1000);
  const auto near = [](StepCost cost, double seconds, double joules) {
    EXPECT_NEAR(cost.time.value(), seconds, 1e-12);
    EXPECT_NEAR(cost.energy.value(), joules, 1e-9);
  };
  near(model.cost(batch(15, 0), 1), 0.011, 0.011 * 550);
  near(model.cost(batch(1, 0), 1), 0.010, 5);
  near(model.cost(batch(0, 150), 1), 0.030, 0.030 * 1100);
  // Beyond the last, times on the line through the last two and powers held.
  near(model.cost(batch(0, 300), 1), 0.060, 0.060 * 1200);
  // Both: 1.1 times the prompts' with the decodes' tokens among them.
  near(model.cost(batch(10, 100), 1), 1.1 * 0.022, 5 + (1.1 * 0.022 - 0.010) * 1020);
  // A lower clock by tokens: of 60, half way.
  near(model.cost(batch(15, 0), 0), 0.011 * 2.05, 0.011 * 550 * 0.805);
}

TEST(TableStepsTest, TheShippedAreOfThreeLayoutsAndMonotone) {
  const auto models = table_steps(shipped_step_tables());
  ASSERT_TRUE(models) << models.error().text();
  ASSERT_EQ(models->size(), 3U);
  for (const auto& model : *models) {
    EXPECT_EQ(model->traits().status, Status::kSimulated);
    EXPECT_NE(model->traits().origin.find("synthetic"), std::string::npos);
    for (std::size_t clock = 0; clock < model->traits().clocks_mhz.size(); ++clock) {
      for (const std::int64_t decodes : {0, 1, 50, 200}) {
        double before = 0;
        for (std::int64_t tokens = decodes == 0 ? 1 : 0; tokens < 9000; tokens += 7) {
          const StepCost cost = model->cost(batch(decodes, tokens), clock);
          EXPECT_GE(cost.time.value(), before);
          // Never above the thermal design power, nor below rest.
          const double watts = cost.energy.value() / cost.time.value();
          EXPECT_LE(watts, 700.001 * model->traits().layout.gpus());
          EXPECT_GT(watts, 75 * model->traits().layout.gpus());
          before = cost.time.value();
        }
      }
    }
  }
}

TEST(TableStepsTest, WhatIsNoTableIsSaidWithItsLine) {
  const auto fails = [](std::string_view engines, std::string_view steps, std::string_view clocks,
                        std::string_view words) {
    const auto models = table_steps({engines, steps, clocks});
    ASSERT_FALSE(models) << words;
    EXPECT_NE(models.error().text().find(words), std::string::npos) << models.error().text();
  };
  fails("model,gpu,tp,cache_tokens,idle_w\nm,g,0,1000,150\n", kSteps, kClocks,
        "line 2: not above 0: tp");
  fails("model,gpu,tp,cache_tokens,idle_w\nm,g,4,1000,150\n", kSteps, kClocks,
        "no steps of prefill and decode of m g 4");
  fails(kEngines, std::string(kSteps) + "m,g,2,decode,20,13,600\n", kClocks,
        "line 6: amounts of a phase must rise");
  fails(kEngines, std::string(kSteps) + "m,g,2,sleep,30,13,600\n", kClocks, "neither prefill");
  fails(kEngines, kSteps, "gpu,tokens,clock_mhz,time_factor,energy_factor\nx,10,1000,2,0.8\n",
        "no clocks of g");
  fails(kEngines, kSteps, std::string(kClocks) + "g,10,2000,1,1\n", "must rise");
  fails(kEngines, kSteps, "gpu,tokens\n", "clock_mhz");
}

}  // namespace
}  // namespace perjoule
