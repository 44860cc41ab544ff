// Power limits of their own for the simulated GPUs of one job, on a clock moved by hand.
#include "device/journal.h"
#include "nvml_on_twin.h"
#include "train/power_limit_tuner.h"
#include "twin/gpu_model.h"

namespace perjoule {
namespace {

class PerGpuOnTwin : public NvmlOnTwin {
 protected:
  void TearDown() override {
    journal_.reset();  // before the knobs that it puts back
    NvmlOnTwin::TearDown();
  }

  /// GPUs in lockstep: a share of a second's work each, then all exchange what they found.
  void lockstep(const std::vector<std::string>& models, const std::vector<double>& shares) {
    discover_on(models);
    journal_.emplace(*KnobJournal::open(journal_folder(), machine_));
    for (std::size_t i = 0; i < models.size(); ++i) {
      const twin::Silicon& chip = (*twin::find_gpu_model(models[i]))->silicon;
      work_.push_back({.flop = shares[i] * chip.flop_per_s, .activity = 0.8});
      exchange_.push_back({.bytes = 0.01 * chip.bytes_per_s, .activity = 0.1, .link_share = 1});
    }
    step(20);  // warm
  }
  void step(int count = 1) {
    for (int i = 0; i < count; ++i) {
      together(work_);
      together(exchange_);
    }
  }
  void together(const std::vector<twin::Phase>& phases) {
    std::vector<std::uint64_t> tickets;
    for (std::size_t i = 0; i < phases.size(); ++i)
      tickets.push_back(*world_->begin_phase(static_cast<int>(i), phases[i]));
    for (std::size_t i = 0; i < phases.size(); ++i)
      ASSERT_TRUE(world_->wait(static_cast<int>(i), tickets[i]));
  }

  Result<PowerLimitTuner> tuner_for(PowerLimitPlan plan) {
    plan.per_gpu = true;
    return PowerLimitTuner::make(*power_limit_knobs(machine_, {}), *journal_, std::move(plan));
  }
  void settle(PowerLimitTuner& tuner) {
    Meter meter(machine_.sources(), *clock_);
    Window window = *meter.begin("training");
    int done = 0;
    const auto settled = PowerLimitOptimizer::Phase::kSettled;
    for (; tuner.optimizer().phase() != settled && done < 10000; ++done) {
      const Measurement so_far = window.so_far();
      StepTotals totals{so_far.duration, so_far.total(), static_cast<double>(done)};
      for (const std::string& device : tuner.devices())
        totals.gpus.push_back(so_far.of_device(device));
      ASSERT_TRUE(tuner.observe(totals));
      step();
    }
    ASSERT_TRUE(tuner.optimizer().choice());
  }

  struct Spent {
    Seconds time;
    Joules energy;
  };
  /// Exact time and energy of a step under these limits.
  Spent truth(const GpuLimits& limits) {
    for (std::size_t i = 0; i < limits.size(); ++i)
      EXPECT_TRUE(world_->set_limit(static_cast<int>(i), limits[i]));
    step(15);
    const Seconds begin = world_->now();
    Joules before;
    for (int i = 0; i < world_->device_count(); ++i) before += world_->truth(i);
    step(30);
    Joules after;
    for (int i = 0; i < world_->device_count(); ++i) after += world_->truth(i);
    return {(world_->now() - begin) / 30, (after - before) / 30};
  }

  std::optional<KnobJournal> journal_;
  std::vector<twin::Phase> work_;
  std::vector<twin::Phase> exchange_;
};

/// What the rule chooses among limits that all have.
const Point& best_for_all(const PowerLimitOptimizer& optimizer, double eta, double max_power) {
  const Point* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < optimizer.points().size(); ++i) {
    const GpuLimits& limits = optimizer.limits_of_points()[i];
    const Point& point = optimizer.points()[i];
    const double cost =
        eta * point.energy.joules.value() + (1 - eta) * max_power * point.time.value();
    if (limits.front() != limits.back() || cost >= least) continue;
    least = cost;
    best = &point;
  }
  return *best;
}

TEST_F(PerGpuOnTwin, WhoWaitsForAStragglerTakesTheLeastEnergyThatKeepsUp) {
  lockstep({"v100", "v100"}, {0.1, 0.13});
  PowerLimitPlan plan;
  auto tuner = tuner_for(plan);
  ASSERT_TRUE(tuner) << tuner.error().text();
  settle(*tuner);
  const PowerLimitOptimizer& optimizer = tuner->optimizer();
  const GpuLimits chosen = optimizer.limits();
  ASSERT_EQ(chosen.size(), 2U);
  EXPECT_LT(chosen[0], chosen[1]);
  EXPECT_EQ(gpu(0).state().power_limit, chosen[0]);
  EXPECT_EQ(gpu(1).state().power_limit, chosen[1]);
  const Point& all = best_for_all(optimizer, 0.5, 600);
  // By the truth: less energy than with one limit for both, and no slower.
  const Watts same(all.config.number("power limit").value_or(0));
  const Spent together = truth({same, same});
  const Spent apart = truth(chosen);
  EXPECT_LT(apart.time.value(), 1.011 * together.time.value());
  EXPECT_LT(apart.energy.value(), 0.98 * together.energy.value());
  // And no other limit of the one that waits does it for less.
  for (double limit = same.value(); limit >= 150; limit -= 25) {
    const Spent other = truth({Watts(limit), chosen[1]});
    if (other.time.value() > 1.005 * together.time.value()) continue;
    EXPECT_GT(other.energy.value(), 0.99 * apart.energy.value()) << limit;
  }
}

TEST_F(PerGpuOnTwin, LikeGpusWithLikeWorkKeepOneLimit) {
  lockstep({"v100", "v100"}, {0.1, 0.1});
  auto tuner = tuner_for({});
  ASSERT_TRUE(tuner);
  settle(*tuner);
  const GpuLimits& limits = tuner->optimizer().limits();
  EXPECT_EQ(limits.front(), limits.back());
  EXPECT_TRUE(journal_->restore());
  EXPECT_EQ(gpu(0).state().power_limit, Watts(300));
  EXPECT_EQ(gpu(1).state().power_limit, Watts(300));
}

TEST_F(PerGpuOnTwin, UnlikeGpusAreTriedAtLikeSharesOfTheirRanges) {
  lockstep({"a100", "h100"}, {0.1, 0.12});
  const auto limits = limits_of_each(*power_limit_knobs(machine_, {}), Watts(25));
  ASSERT_TRUE(limits);
  ASSERT_EQ((*limits)[0].size(), (*limits)[1].size());
  EXPECT_EQ((*limits)[0].front(), Watts(400));
  EXPECT_EQ((*limits)[1].front(), Watts(700));
  EXPECT_EQ((*limits)[0].back(), Watts(100));
  EXPECT_EQ((*limits)[1].back(), Watts(200));
  PowerLimitPlan plan;
  plan.rule = EtaCost{1};
  auto tuner = tuner_for(plan);
  ASSERT_TRUE(tuner) << tuner.error().text();
  settle(*tuner);
  const GpuLimits& chosen = tuner->optimizer().limits();
  const Spent apart = truth(chosen);
  const Spent highest = truth({Watts(400), Watts(700)});
  EXPECT_LT(apart.energy, highest.energy);
}

TEST_F(PerGpuOnTwin, WhatCannotBeDecidedPerGpuIsSaid) {
  lockstep({"a100", "h100"}, {0.1, 0.1});
  PowerLimitPlan plan;
  plan.limits = {Watts(600), Watts(500)};
  const auto outside = tuner_for(plan);
  ASSERT_FALSE(outside);
  EXPECT_NE(outside.error().message.find("takes 100 to 400 W"), std::string::npos);
  plan.limits = {Watts(400), Watts(300)};
  plan.rule = MaxSlowdown{1.1, "power limit"};
  const auto lowest = tuner_for(plan);
  ASSERT_FALSE(lowest);
  EXPECT_NE(lowest.error().text().find("--lowest"), std::string::npos);
}

}  // namespace
}  // namespace perjoule
