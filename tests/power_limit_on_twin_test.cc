// The power-limit tuner on a simulated V100 that trains ResNet-50, on a clock moved by hand.
#include "base/file.h"
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
  const Seconds began = world_->now();
  std::vector<Spent> each;
  int done = 0;
  while (tuner->optimizer().phase() != PowerLimitOptimizer::Phase::kSettled && done < 1000) {
    const Measurement so_far = window.so_far();
    ASSERT_TRUE(tuner->observe({so_far.duration, so_far.total(), static_cast<double>(done)}));
    if (tuner->optimizer().phase() == PowerLimitOptimizer::Phase::kSettled) break;
    each.push_back(steps(1));
    ++done;
  }
  const Joules measuring = world_->truth(0) - before;
  EXPECT_EQ(tuner->optimizer().limit(), best);
  EXPECT_EQ(gpu().state().power_limit, best);
  EXPECT_EQ(tuner->optimizer().points().front().energy.status, Status::kSimulated);
  const Seconds took = world_->now() - began;
  const Spent same = steps(done);
  const double jobs = 1800 / same.time.value();  // as many fill 30 minutes
  // A step takes more energy than at the chosen limit under the higher ones, and less under the
  // lower ones, which cost time instead: neither pays for the other.
  Joules above;
  for (const Spent& step : each) above += std::max(Joules(0), step.energy - same.energy / done);
  EXPECT_LT(above / (same.energy * jobs), 0.01);
  EXPECT_LT((measuring - same.energy) / (same.energy * jobs), 0.01);
  EXPECT_LT((took - same.time) / (same.time * jobs), 0.015);
  RecordProperty("above_percent", std::to_string(100 * (above / (same.energy * jobs))));
  RecordProperty("time_percent", std::to_string(100 * ((took - same.time) / (same.time * jobs))));
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

/// Two GPUs that begin at limits of their own, neither of which is the highest or the default.
class TwoGpusOnTwin : public NvmlOnTwin {
 protected:
  void SetUp() override {
    discover_on({"v100", "v100"});
    ASSERT_TRUE(world_->set_limit(0, Watts(275)));
    ASSERT_TRUE(world_->set_limit(1, Watts(225)));
    journal_.emplace(*KnobJournal::open(journal_folder(), machine_));
    PowerLimitPlan plan;
    plan.warm_up_steps = 0;
    plan.profile_steps = 1;
    auto tuner = PowerLimitTuner::make(*power_limit_knobs(machine_, {}), *journal_, plan);
    ASSERT_TRUE(tuner) << tuner.error().text();
    tuner_.emplace(std::move(*tuner));
    energy_.status = Status::kSimulated;
  }
  void TearDown() override {
    journal_.reset();  // before the knobs that it puts back
    NvmlOnTwin::TearDown();
  }
  /// A second and a step go by, at 200 W.
  Outcome step() {
    energy_.joules += Joules(200);
    return tuner_->observe({Seconds(done_), energy_, static_cast<double>(done_++)});
  }
  void train_until(Watts limit) {
    while (done_ < 100 && tuner_->optimizer().limit() != limit) ASSERT_TRUE(step());
  }
  Watts limit(std::size_t index) { return gpu(index).state().power_limit.value_or(Watts(0)); }

  std::optional<KnobJournal> journal_;
  std::optional<PowerLimitTuner> tuner_;
  Energy energy_;
  int done_ = 0;
};

TEST_F(TwoGpusOnTwin, LimitsThatWereFoundAndNotTheHighestArePutBack) {
  train_until(Watts(250));
  EXPECT_EQ(limit(0), Watts(250));
  EXPECT_EQ(limit(1), Watts(250));
  ASSERT_TRUE(journal_->restore());
  EXPECT_EQ(limit(0), Watts(275));
  EXPECT_EQ(limit(1), Watts(225));
}

TEST_F(TwoGpusOnTwin, WhenOneTakesALimitNoMoreAllArePutBack) {
  train_until(Watts(250));
  fault("return:call=nvmlDeviceSetPowerManagementLimit,code=4,gpu=1,count=1");
  Outcome set;
  while (set && done_ < 100) set = step();
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, ErrorCode::kPermissionDenied);
  EXPECT_NE(set.error().message.find("every limit was put back"), std::string::npos)
      << set.error().text();
  ASSERT_TRUE(tuner_->failure());
  EXPECT_EQ(tuner_->failure()->message, set.error().message);
  EXPECT_EQ(limit(0), Watts(275));
  EXPECT_EQ(limit(1), Watts(225));
  // And they stay there.
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(step());
  EXPECT_EQ(limit(0), Watts(275));
}

TEST_F(TwoGpusOnTwin, WhatCannotBePutBackIsSaid) {
  train_until(Watts(250));
  fault("return:call=nvmlDeviceSetPowerManagementLimit,code=4,gpu=1");
  Outcome set;
  while (set && done_ < 100) set = step();
  ASSERT_FALSE(set);
  EXPECT_NE(set.error().message.find("not every limit could be put back: putting back " +
                                     gpu(1).info().id),
            std::string::npos)
      << set.error().text();
  EXPECT_EQ(limit(0), Watts(275));
  EXPECT_EQ(limit(1), Watts(250));
  world_->clear_faults();
  // The journal still has it, for the next perjoule.
  EXPECT_EQ(list_folder(journal_folder()).size(), 1U);
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
