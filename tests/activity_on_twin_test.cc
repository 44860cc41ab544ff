// Steps reckoned from the activity of simulated GPUs, on a clock moved by hand.
#include "device/journal.h"
#include "meter/power_course.h"
#include "meter/sampler.h"
#include "nvml_on_twin.h"
#include "train/activity_tuner.h"
#include "twin/gpu_model.h"
#include "twin/job_table.h"

namespace perjoule {
namespace {

class ActivityOnTwin : public NvmlOnTwin {
 protected:
  /// Everything `perjoule train power-limit --steps activity` has, on GPUs that do these steps.
  void prepare(const std::string& model, const twin::Phase& step, std::size_t gpus = 1) {
    discover_on(std::vector<std::string>(gpus, model));
    step_ = step;
    meter_.emplace(machine_.sources(), *clock_, 64U << 20U);
    schedule_.emplace(*meter_, Seconds(0.1), SamplePace::kSeesTicks);
    course_.emplace(*meter_);
    window_.emplace(*meter_->begin("training"));
    journal_.emplace(*KnobJournal::open(journal_folder(), machine_));
    begin_ = clock_->now();
  }
  void TearDown() override {
    journal_.reset();  // before the knobs that it puts back
    window_.reset();
    course_.reset();
    schedule_.reset();
    meter_.reset();
    NvmlOnTwin::TearDown();
  }
  ActivityTuner tuner_for(PowerLimitPlan plan = {}) {
    auto tuner = PowerLimitTuner::make(*power_limit_knobs(machine_, {}), *journal_, plan);
    EXPECT_TRUE(tuner) << tuner.error().text();
    return {std::move(*tuner), course_->step()};
  }

  /// Trains for so long, or until `enough`: the GPUs' queues never run dry, the sampler reads when
  /// it is due, and the tuner looks four times a second.
  void train(ActivityTuner& tuner, Seconds time, const std::function<bool()>& enough) {
    const Seconds end = world_->now() + time;
    for (int turn = 1; world_->now() < end && !enough(); ++turn) {
      for (int device = 0; device < world_->device_count(); ++device) keep_busy(device);
      pass(0.005_s);
      schedule_->run(clock_->now());
      if (turn % 50 != 0) continue;
      const auto restart =
          tuner.observe(clock_->now() - begin_, window_->so_far().total(), course_->watts());
      ASSERT_TRUE(restart) << restart.error().text();
      if (*restart) course_->restart();
    }
  }
  void keep_busy(int device) {
    auto& waiting = waiting_[static_cast<std::size_t>(device)];
    while (waiting.size() < 3 ||
           world_->remaining(device, waiting[waiting.size() - 2]).value() <= 0) {
      waiting.push_back(*world_->begin_phase(device, step_));
    }
  }
  static std::function<bool()> settled(const ActivityTuner& tuner) {
    return [&tuner] {
      return tuner.given_up() ||
             tuner.tuner().optimizer().phase() == PowerLimitOptimizer::Phase::kSettled;
    };
  }

  twin::Phase step_;
  std::optional<Meter> meter_;
  std::optional<SampleSchedule> schedule_;
  std::optional<PowerCourse> course_;
  std::optional<Window> window_;
  std::optional<KnobJournal> journal_;
  Instant begin_;
  std::array<std::vector<std::uint64_t>, 8> waiting_;
};

std::string told(const ActivityTuner& tuner) {
  std::string text = tuner.missing();
  for (const std::string& note : tuner.notes()) text += "; " + note;
  return text;
}

TEST_F(ActivityOnTwin, StepsWithAGapAreCountedAndTheLimitIsTheOneOfCountedSteps) {
  const twin::GpuModel* const model = *twin::find_gpu_model("h100");
  prepare("h100", {.flop = 0.4 * model->silicon.flop_per_s, .activity = 0.8, .host_s = 0.15});
  PowerLimitPlan plan;
  plan.rule = EtaCost{1};
  for (const double limit : {700, 600, 500, 400, 300}) plan.limits.emplace_back(limit);
  ActivityTuner tuner = tuner_for(plan);
  train(tuner, Seconds(600), settled(tuner));
  const PowerLimitOptimizer& optimizer = tuner.tuner().optimizer();
  ASSERT_TRUE(optimizer.choice()) << told(tuner);
  // The truth, step by step under each of the limits that were measured.
  ASSERT_TRUE(world_->end_phase(0));
  ASSERT_GE(optimizer.points().size(), 4U);
  ASSERT_EQ(tuner.periods().size(), optimizer.points().size());
  Joules least(std::numeric_limits<double>::infinity());
  Watts best;
  for (std::size_t i = 0; i < optimizer.points().size(); ++i) {
    ASSERT_TRUE(world_->set_limit(0, plan.limits[i]));
    for (int n = 0; n < 10; ++n) ASSERT_TRUE(world_->run(0, step_));
    const Seconds begin = world_->now();
    const Joules before = world_->truth(0);
    for (int n = 0; n < 40; ++n) ASSERT_TRUE(world_->run(0, step_));
    const Seconds time = (world_->now() - begin) / 40;
    const Joules energy = (world_->truth(0) - before) / 40;
    const Point& point = optimizer.points()[i];
    EXPECT_NEAR(point.time / time, 1, 0.01) << plan.limits[i].value();
    EXPECT_NEAR(point.energy.joules / energy, 1, 0.03) << plan.limits[i].value();
    EXPECT_GT(point.energy.random.value(), 0);
    if (energy < least) {
      least = energy;
      best = plan.limits[i];
    }
  }
  EXPECT_EQ(optimizer.limit(), best);
}

TEST_F(ActivityOnTwin, SeveralGpusAreHeardTogether) {
  const twin::GpuModel* const model = *twin::find_gpu_model("v100");
  prepare("v100", {.flop = 0.3 * model->silicon.flop_per_s, .activity = 0.8, .host_s = 0.1}, 2);
  ActivityTuner tuner = tuner_for();
  train(tuner, Seconds(600), settled(tuner));
  EXPECT_TRUE(tuner.tuner().optimizer().choice()) << told(tuner);
  EXPECT_GE(tuner.periods().size(), 2U);
}

TEST_F(ActivityOnTwin, ABusyDeviceHasNoRhythmAndKeepsItsLimit) {
  const twin::GpuModel* const model = *twin::find_gpu_model("v100");
  prepare("v100", {.flop = 0.5 * model->silicon.flop_per_s, .activity = 1});
  ASSERT_TRUE(world_->set_limit(0, Watts(250)));
  ActivityTuner tuner = tuner_for();
  train(tuner, Seconds(150), settled(tuner));
  EXPECT_TRUE(tuner.tuner().optimizer().points().empty());
  EXPECT_FALSE(tuner.tuner().optimizer().limit());
  // What 60 s of listening were refused for, and not that it has begun anew.
  EXPECT_EQ(tuner.missing(), "the series is even");
  EXPECT_EQ(tuner.steps(), 0);
  EXPECT_EQ(gpu().state().power_limit, Watts(250));
}

TEST_F(ActivityOnTwin, WhereTheGapsCloseTheLowerLimitsAreLeftOut) {
  const twin::GpuModel* const model = *twin::find_gpu_model("v100");
  prepare("v100", twin::step_of(*twin::find_job("resnet50", "v100"), model->silicon, 40));
  ActivityTuner tuner = tuner_for();
  train(tuner, Seconds(600), settled(tuner));
  const PowerLimitOptimizer& optimizer = tuner.tuner().optimizer();
  ASSERT_TRUE(optimizer.choice()) << told(tuner);
  EXPECT_LT(optimizer.points().size(), 7U);
  EXPECT_NE(told(tuner).find("it and the lower limits are left out"), std::string::npos);
  // Less energy at the same pace than at the limit it began with.
  EXPECT_LT(*optimizer.limit(), Watts(300));
  EXPECT_NEAR(optimizer.points()[optimizer.choice()->chosen].time.value(), 0.67, 0.007);
}

TEST_F(ActivityOnTwin, WhereTheyCloseAtOnceNothingIsChosenAndTheLimitIsPutBack) {
  const twin::GpuModel* const model = *twin::find_gpu_model("v100");
  prepare("v100", twin::step_of(*twin::find_job("bert-base-uncased", "v100"), model->silicon, 40));
  ActivityTuner tuner = tuner_for();
  train(tuner, Seconds(600), settled(tuner));
  EXPECT_TRUE(tuner.given_up()) << told(tuner);
  EXPECT_FALSE(tuner.tuner().optimizer().choice());
  EXPECT_NE(told(tuner).find("nothing is chosen"), std::string::npos);
  EXPECT_EQ(gpu().state().power_limit, Watts(300));
  // It stays so.
  train(tuner, Seconds(30), [] { return false; });
  EXPECT_EQ(gpu().state().power_limit, Watts(300));
}

// A sensor of 100 ms shows steps of 110 ms as if they took 0.7 s, and quicker under a lower limit.
TEST_F(ActivityOnTwin, StepsFasterThanTheSensorAreNotTakenForSlowOnes) {
  const twin::GpuModel* const model = *twin::find_gpu_model("h100");
  prepare("h100", {.flop = 0.08 * model->silicon.flop_per_s, .activity = 0.8, .host_s = 0.03});
  PowerLimitPlan plan;
  for (const double limit : {700, 650, 600, 550, 500}) plan.limits.emplace_back(limit);
  ActivityTuner tuner = tuner_for(plan);
  train(tuner, Seconds(300), settled(tuner));
  EXPECT_FALSE(tuner.tuner().optimizer().choice()) << told(tuner);
  EXPECT_EQ(gpu().state().power_limit, Watts(700));
}

TEST_F(ActivityOnTwin, AChangeOfTheWorkIsNoticed) {
  const twin::GpuModel* const model = *twin::find_gpu_model("v100");
  prepare("v100", {.flop = 0.3 * model->silicon.flop_per_s, .activity = 0.8, .host_s = 0.1});
  PowerLimitPlan plan;
  plan.limits = {Watts(300), Watts(250), Watts(200)};
  ActivityTuner tuner = tuner_for(plan);
  train(tuner, Seconds(600), settled(tuner));
  ASSERT_TRUE(tuner.tuner().optimizer().choice()) << told(tuner);
  step_.host_s = 0.2;
  const auto& optimizer = tuner.tuner().optimizer();
  train(tuner, Seconds(600), [&] { return optimizer.repeats() > 0; });
  EXPECT_EQ(optimizer.repeats(), 1);
  train(tuner, Seconds(600), settled(tuner));
  ASSERT_TRUE(optimizer.choice()) << told(tuner);
  EXPECT_EQ(tuner.periods().size(), optimizer.points().size());
}

}  // namespace
}  // namespace perjoule
