// The power-limit tuner on a simulated V100 that trains ResNet-50, on a clock moved by hand.
#include "device/journal.h"
#include "nvml_on_twin.h"
#include "train/power_limit_tuner.h"
#include "twin/gpu_model.h"
#include "twin/job_table.h"

namespace perjoule {
namespace {

class PowerLimitOnTwin : public NvmlOnTwin {
 protected:
  void SetUp() override {
    discover_on({"v100"});
    const twin::GpuModel* const model = *twin::find_gpu_model("v100");
    step_ = twin::step_of(*twin::find_job("resnet50", "v100"), model->silicon, 40);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(world_->run(0, step_));  // warm
  }

  struct Spent {
    Seconds time;
    Joules energy;
  };
  /// Exact time and energy of so many steps.
  Spent steps(int count) {
    const Seconds begin = world_->now();
    const Joules before = world_->truth(0);
    for (int i = 0; i < count; ++i) EXPECT_TRUE(world_->run(0, step_));
    return {world_->now() - begin, world_->truth(0) - before};
  }

  twin::Phase step_;
};

TEST_F(PowerLimitOnTwin, FindsWhatAnExhaustiveSweepFindsForLessThanAPerCent) {
  const auto knobs = power_limit_knobs(machine_, {});
  ASSERT_TRUE(knobs);
  const auto limits = limits_between(*knobs, Watts(25));
  ASSERT_TRUE(limits);
  EXPECT_EQ(limits->front(), Watts(300));
  EXPECT_EQ(limits->back(), Watts(150));
  // The sweep, by the truth.
  Watts best;
  double least = std::numeric_limits<double>::infinity();
  for (const Watts limit : *limits) {
    ASSERT_TRUE(world_->set_limit(0, limit));
    steps(10);
    const Spent spent = steps(40);
    const double cost = 0.5 * spent.energy.value() + 0.5 * 300 * spent.time.value();
    if (cost < least) {
      least = cost;
      best = limit;
    }
  }
  ASSERT_TRUE(world_->set_limit(0, Watts(300)));
  // The tuner, by the meter.
  Meter meter(machine_.sources(), *clock_);
  Window window = *meter.begin("training");
  KnobJournal journal = *KnobJournal::open(journal_folder(), machine_);
  auto tuner = PowerLimitTuner::make(*knobs, journal, {});
  ASSERT_TRUE(tuner) << tuner.error().text();
  const Joules before = world_->truth(0);
  int done = 0;
  while (tuner->optimizer().phase() != PowerLimitOptimizer::Phase::kSettled && done < 1000) {
    const Measurement so_far = window.so_far();
    ASSERT_TRUE(tuner->observe({so_far.duration, so_far.total(), static_cast<double>(done)}));
    if (tuner->optimizer().phase() == PowerLimitOptimizer::Phase::kSettled) break;
    steps(1);
    ++done;
  }
  const Joules measuring = world_->truth(0) - before;
  EXPECT_EQ(tuner->optimizer().limit(), best);
  EXPECT_EQ(gpu().state().power_limit, best);
  EXPECT_EQ(tuner->optimizer().points().front().energy.status, Status::kSimulated);
  const Spent same = steps(done);
  const double overhead =
      measuring - same.energy > Joules(0)
          ? (measuring - same.energy) / (same.energy * (1800 / same.time.value()))
          : 0;
  EXPECT_LT(overhead, 0.01);
  ASSERT_TRUE(journal.restore());
  EXPECT_EQ(gpu().state().power_limit, Watts(300));
}

TEST_F(PowerLimitOnTwin, WhatSomebodyElseCapsIsSaidAndTheRestGoesOn) {
  fault("cap:value=220");
  KnobJournal journal = *KnobJournal::open(journal_folder(), machine_);
  PowerLimitPlan plan;
  plan.limits = {Watts(250), Watts(200)};
  auto tuner = PowerLimitTuner::make(*power_limit_knobs(machine_, {}), journal, plan);
  ASSERT_TRUE(tuner);
  Energy energy;
  energy.status = Status::kSimulated;
  ASSERT_TRUE(tuner->observe({Seconds(0), energy, 0}));
  ASSERT_TRUE(tuner->observe({Seconds(1), energy, 1}));
  ASSERT_EQ(tuner->notes().size(), 1U);
  EXPECT_NE(tuner->notes()[0].find("250 W asked, 220 W in force"), std::string::npos);
}

TEST_F(NvmlOnTwin, GpusWithoutACommonPowerLimitAreRefused) {
  discover_on({"v100", "gb300"});
  const auto knobs = power_limit_knobs(machine_, {});
  ASSERT_TRUE(knobs);
  ASSERT_EQ(knobs->size(), 2U);
  const auto limits = limits_between(*knobs, Watts(25));
  ASSERT_FALSE(limits);
  EXPECT_NE(limits.error().message.find("no power limit in common"), std::string::npos);
}

}  // namespace
}  // namespace perjoule
