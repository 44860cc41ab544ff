#include "pipeline/runtime/instruction_meter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "math/random.h"

namespace perjoule {
namespace {

constexpr std::uint32_t kForward = 0, kBackward = 1, kWaiting = 2;

/// A stage that runs for ever, and a counter that is looked at now and then.
class Stage {
 public:
  explicit Stage(std::uint64_t seed) : random_(seed) {}

  void run(std::uint32_t kind, double seconds) {
    if (kind != kWaiting) spans_.push_back({kind, Seconds(now_), Seconds(now_ + seconds)});
    // The counter shows at its ticks what was drawn until then; a look is up to a gap late.
    while (next_tick_ <= now_ + seconds) {
      const double energy = energy_ + (next_tick_ - now_) * watts_[kind];
      const double late = random_.uniform() * kGap;
      ticks_.push_back({Seconds(next_tick_ + late - kGap / 2), Seconds(kGap), Joules(energy)});
      next_tick_ += kTick;
    }
    energy_ += watts_[kind] * seconds;
    now_ += seconds;
  }
  void end_iteration(InstructionMeter& meter) {
    meter.add(spans_, kWaiting, ticks_, Seconds(began_), Seconds(now_));
    spans_.clear();
    ticks_.clear();
    began_ = now_;
  }

  static constexpr double kTick = 0.1, kGap = 0.025;
  const double watts_[3] = {280, 340, 85};
  Random random_;

 private:
  double now_ = 1e5, began_ = 1e5, next_tick_ = 1e5, energy_ = 7e6;
  std::vector<InstructionSpan> spans_;
  std::vector<CounterTick> ticks_;
};

void expect_powers(const std::vector<InstructionTook>& took, const Stage& stage, double worst) {
  for (const std::uint32_t kind : {kForward, kBackward, kWaiting}) {
    const double off = took[kind].power.value() - stage.watts_[kind];
    EXPECT_LT(std::abs(off), 4.5 * took[kind].power_sigma.value() + 1e-9) << kind;
    // A stage waits little, so that little is known of it.
    EXPECT_LT(std::abs(off), (kind == kWaiting ? 3 : 1) * worst * stage.watts_[kind]) << kind;
  }
}

TEST(InstructionMeter, InstructionsShorterThanATickAreToldApart) {
  Stage stage(1);
  InstructionMeter meter(3);
  for (int iteration = 0; iteration < 12; ++iteration) {
    for (int i = 0; i < 3; ++i) stage.run(kForward, 0.05);
    for (int i = 0; i < 13; ++i) {
      stage.run(kWaiting, 0.01);
      stage.run(kForward, 0.05);
      stage.run(kBackward, 0.093);
    }
    stage.run(kWaiting, 0.2);
    for (int i = 0; i < 3; ++i) stage.run(kBackward, 0.093);
    stage.end_iteration(meter);
  }
  const auto took = meter.solve();
  expect_powers(took, stage, 0.03);
  EXPECT_EQ(took[kForward].count, 12 * 16);
  EXPECT_NEAR(took[kForward].time.value(), 0.05, 1e-9);
  EXPECT_NEAR(took[kBackward].time.value(), 0.093, 1e-9);
  EXPECT_NEAR(took[kWaiting].time.value(), 0.33, 1e-9);
}

TEST(InstructionMeter, TheLastStageAlternatesAndNeverWaits) {
  Stage stage(2);
  InstructionMeter meter(3);
  for (int iteration = 0; iteration < 20; ++iteration) {
    for (int i = 0; i < 16; ++i) {
      stage.run(kForward, 0.02);
      stage.run(kBackward, 0.041);
    }
    stage.end_iteration(meter);
  }
  const auto took = meter.solve();
  // The two together are known far better than each.
  const double together =
      took[kForward].power.value() * 0.02 + took[kBackward].power.value() * 0.041;
  EXPECT_NEAR(together / (280 * 0.02 + 340 * 0.041), 1, 0.005);
  EXPECT_LT(std::abs(took[kForward].power.value() - 280), 4.5 * took[kForward].power_sigma.value());
  // Waiting was not seen: it is guessed, and says so.
  EXPECT_GT(took[kWaiting].power_sigma.value(), 0.5 * took[kWaiting].power.value());
}

TEST(InstructionMeter, WithoutTicksTimesAreKnownAndPowersAreNot) {
  InstructionMeter meter(3);
  const std::vector<InstructionSpan> spans = {{kForward, Seconds(0), Seconds(1)},
                                              {kForward, Seconds(2), Seconds(5)}};
  meter.add(spans, kWaiting, {}, Seconds(0), Seconds(6));
  const auto took = meter.solve();
  EXPECT_EQ(took[kForward].time, Seconds(2));
  EXPECT_NEAR(took[kForward].time_spread.value(), std::sqrt(2), 1e-12);
  EXPECT_EQ(took[kWaiting].time, Seconds(2));
  EXPECT_TRUE(std::isinf(took[kForward].power_sigma.value()));
}

TEST(InstructionMeter, ThirtyTrialsStayWithinWhatTheyClaim) {
  int within = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Stage stage(seed);
    InstructionMeter meter(3);
    for (int iteration = 0; iteration < 6; ++iteration) {
      for (int i = 0; i < 8; ++i) {
        stage.run(kForward, 0.03 + 0.01 * stage.random_.uniform());
        stage.run(kBackward, 0.07);
        stage.run(kWaiting, 0.02 * stage.random_.uniform());
      }
      stage.end_iteration(meter);
    }
    const auto took = meter.solve();
    for (const std::uint32_t kind : {kForward, kBackward, kWaiting}) {
      const double off = std::abs(took[kind].power.value() - stage.watts_[kind]);
      within += off < 2 * took[kind].power_sigma.value() ? 1 : 0;
    }
  }
  EXPECT_GE(within, 80);  // 86 of 90 expected
}

}  // namespace
}  // namespace perjoule
