// Counters that stand still: at the end of a window, throughout, or from before its beginning.
#include <gtest/gtest.h>

#include "meter/fake_source.h"
#include "meter/meter.h"
#include "meter/sampler.h"

namespace perjoule {
namespace {
using namespace literals;

constexpr double kWatts = 300;

class Standstill : public testing::Test {
 protected:
  /// Lets time go by, the sampler looking on.
  void pass(Seconds time) {
    for (const Instant until = clock_.now() + time; clock_.now() < until;) {
      clock_.advance(std::min(Seconds(0.05), until - clock_.now()));
      schedule_.run(clock_.now());
    }
  }
  void freeze() { gpu_.frozen_at = static_cast<double>(clock_.now().ns) * 1e-9; }
  void thaw() { gpu_.frozen_at = -1; }

  VirtualClock clock_{Instant{1'000'000'000}};
  FakeSource gpu_{fake_counter("gpu:a", 0.1), clock_, [](double) { return kWatts; }};
  Meter meter_{{&gpu_}, clock_};
  SampleSchedule schedule_{meter_, 0.1_s};
};

TEST_F(Standstill, FromThreeTicksUpwardNothingIsKnown) {
  pass(1.0_s);
  freeze();
  pass(1.0_s);
  for (const Seconds length : {0.35_s, 0.45_s, 0.8_s, 5.0_s}) {
    Window window = *meter_.begin("x");
    pass(length);
    const Measurement used = window.end();
    EXPECT_EQ(used.total().status, Status::kMissing) << length.value();
    EXPECT_NE(used.sources[0].notes.at(0).find("no energy is known"), std::string::npos);
  }
}

TEST_F(Standstill, AWindowInWhichTheCounterCouldNotTickIsNotMissing) {
  for (const Seconds length : {0.005_s, 0.05_s, 0.15_s, 0.25_s, 0.31_s, 0.5_s}) {
    pass(0.93_s);
    Window window = *meter_.begin("x");
    pass(length);
    const Energy used = window.end().total();
    EXPECT_EQ(used.status, Status::kMeasured) << length.value();
    EXPECT_FALSE(used.one_sided()) << length.value();
    EXPECT_LE(abs(used.joules - Watts(kWatts) * length), used.expanded_uncertainty())
        << length.value();
  }
}

TEST_F(Standstill, AFewTicksAtTheEndWidenTheFigure) {
  pass(1.0_s);
  for (const Seconds frozen : {0.4_s, 0.6_s, 0.8_s}) {
    Window window = *meter_.begin("x");
    pass(1.0_s - frozen);
    freeze();
    pass(frozen);
    const Measurement used = window.end();
    const Energy total = used.total();
    EXPECT_FALSE(total.one_sided());
    EXPECT_LE(abs(total.joules - Watts(kWatts) * 1.0_s), total.expanded_uncertainty())
        << frozen.value();
    EXPECT_GE(total.upper, Watts(kWatts) * 1.0_s);
    EXPECT_NE(used.sources[0].notes.at(0).find("did not move for"), std::string::npos);
    thaw();
    pass(1.0_s);
  }
}

TEST_F(Standstill, OneFromBeforeTheWindowGivesAnUpperBound) {
  pass(1.0_s);
  freeze();
  pass(1.5_s);
  Window window = *meter_.begin("x");
  pass(2.0_s);
  thaw();
  pass(2.0_s);
  const Measurement used = window.end();
  const Energy total = used.total();
  EXPECT_TRUE(total.upper_bound);
  EXPECT_EQ(total.grade(), Grade::kD);
  EXPECT_GT(total.joules, Watts(kWatts) * 5.0_s);
  EXPECT_LE(total.lower, Watts(kWatts) * 4.0_s);
  EXPECT_TRUE(used.sources[0].notes.at(0).ends_with(": upper bound")) << used.sources[0].notes[0];
}

TEST_F(Standstill, OneFromBeforeTheFirstReadingIsNoticedToo) {
  // As `run` meets a counter that froze long before it: nothing was read before the window.
  gpu_.frozen_at = 0.5;
  clock_.advance(3.0_s);
  Window window = *meter_.begin("x");
  pass(2.0_s);
  thaw();
  pass(1.0_s);
  const Energy total = window.end().total();
  EXPECT_TRUE(total.upper_bound);
  EXPECT_LE(total.lower, Watts(kWatts) * 3.0_s);
}

TEST_F(Standstill, WithoutASamplerEarlierWindowsTellOfIt) {
  Window earlier = *meter_.begin("earlier");
  freeze();
  clock_.advance(1.0_s);
  EXPECT_EQ(earlier.end().total().status, Status::kMissing);
  Window window = *meter_.begin("x");
  clock_.advance(1.0_s);
  thaw();
  EXPECT_TRUE(window.end().total().upper_bound);
}

TEST_F(Standstill, OneWithinTheWindowIsRight) {
  pass(1.0_s);
  Window window = *meter_.begin("x");
  pass(0.5_s);
  freeze();
  pass(2.0_s);
  thaw();
  pass(1.5_s);
  const Measurement used = window.end();
  EXPECT_FALSE(used.total().one_sided());
  EXPECT_TRUE(used.sources[0].notes.empty());
  EXPECT_LE(abs(used.total().joules - Watts(kWatts) * 4.0_s), used.total().expanded_uncertainty());
}

TEST_F(Standstill, OneRightAfterTheBeginningIsTheWindowsOwn) {
  pass(1.0_s);
  Window window = *meter_.begin("x");
  freeze();
  pass(2.0_s);
  thaw();
  pass(1.0_s);
  EXPECT_FALSE(window.end().total().one_sided());
}

TEST_F(Standstill, AWindowAfterTheRecoveryIsRight) {
  pass(1.0_s);
  freeze();
  pass(2.0_s);
  thaw();
  pass(1.0_s);
  Window window = *meter_.begin("x");
  pass(2.0_s);
  EXPECT_FALSE(window.end().total().one_sided());
}

TEST_F(Standstill, ACounterWhoseStandstillsAreForgottenIsNotBelieved) {
  freeze();
  pass(1.0_s);
  Window window = *meter_.begin("x");
  for (std::size_t i = 0; i <= CounterTrack::kThawsKept; ++i) {
    thaw();
    pass(0.2_s);
    freeze();
    pass(1.0_s);
  }
  thaw();
  pass(0.2_s);
  EXPECT_TRUE(window.end().total().upper_bound);
}

TEST(StandstillOfASlowCounter, SmallAmountsAreNoRecovery) {
  // 5 mW in steps of 62 uJ: a counter that moves every dozen of its ticks.
  VirtualClock clock{Instant{1'000'000'000}};
  class Steps final : public Source {
   public:
    explicit Steps(const VirtualClock& clock) : clock_(clock) {
      info_ = fake_counter("cpu:0/core", 1e-3);
      info_.quantum = 6.2e-5;
    }
    const SourceInfo& info() const noexcept override { return info_; }
    Reading read() noexcept override {
      return {ErrorCode::kOk, static_cast<std::uint64_t>(clock_.now().ns / 200'000 / 62) * 62};
    }

   private:
    const VirtualClock& clock_;
    SourceInfo info_;
  } core(clock);
  Meter meter({&core}, clock);
  Window window = *meter.begin("x");
  for (int i = 0; i < 2000; ++i) {
    clock.advance(0.001_s);
    for (const auto& channel : meter.channels()) channel->sample();
  }
  const Measurement used = window.end();
  EXPECT_FALSE(used.total().one_sided());
  EXPECT_TRUE(used.sources[0].notes.empty());
  EXPECT_NEAR(used.total().joules.value(), 0.01, 1e-3);
}

}  // namespace
}  // namespace perjoule
