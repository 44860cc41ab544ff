#include "meter/counter.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

namespace perjoule {
namespace {
using namespace literals;

constexpr std::uint64_t kRange = 262'143'328'850;  // uJ, Intel package

SourceInfo package() {
  SourceInfo info;
  info.modulus_micro = kRange + 61;
  info.tick = 0.001_s;
  info.quantum = 61e-6;
  info.max_power = 2000.0_W;
  return info;
}
SourceInfo gpu() {
  SourceInfo info;
  info.tick = 0.1_s;
  info.quantum = 1e-3;
  info.max_power = 1400.0_W;
  return info;
}
Instant at(double seconds) { return Instant{static_cast<std::int64_t>(seconds * 1e9)}; }

TEST(Counter, AWrapIsCounted) {
  CounterTrack track(package());
  track.update(kRange - 1'000'000, at(0));
  track.update(500'000, at(1));
  EXPECT_EQ(track.total_micro(), 1'500'061U);
  EXPECT_EQ(track.faults().wraps, 1U);
  EXPECT_EQ(track.faults().resets, 0U);
}

TEST(Counter, AWindowJustAfterAWrapIsNeverNegative) {
  // A peer that let a slower process count the wraps answered -102,950 J here (true: 159 kJ).
  CounterTrack track(package());
  track.update(103'000'000'000, at(0));
  for (int i = 1; i <= 1590; ++i)
    track.update((103'000'000'000 + std::uint64_t(i) * 100'000'000) % (kRange + 61), at(i));
  EXPECT_EQ(track.total_micro(), 159'000'000'000U);
}

TEST(Counter, AResetIsToldFromAWrapByThePhysicalBound) {
  CounterTrack track(package());
  track.update(40'000'000'000, at(0));
  track.update(10'000'000, at(0.1));  // a wrap would be 222 kJ in 0.1 s
  track.update(20'000'000, at(0.2));
  EXPECT_EQ(track.faults().wraps, 0U);
  EXPECT_EQ(track.faults().resets, 1U);
  EXPECT_EQ(track.total_micro(), 20'000'000U);  // what has gathered since the reset
}

TEST(Counter, A64BitCounterGoingBackIsAResetNeverAnUnderflow) {
  CounterTrack track(gpu());
  track.update(5'000'000'000'000, at(0));
  track.update(30'000'000, at(1));
  track.update(60'000'000, at(1.1));
  EXPECT_EQ(track.faults().resets, 1U);
  EXPECT_EQ(track.total_micro(), 60'000'000U);
}

TEST(Counter, AnIsolatedNearZeroReadingIsLeftOut) {
  // Seen on Intel GPUs: one scrape reads near zero, and a rate over it is 3.69e12 W.
  CounterTrack track(gpu());
  track.update(5'000'000'000, at(0));
  track.update(12, at(1));
  track.update(5'600'000'000, at(2));
  EXPECT_EQ(track.total_micro(), 600'000'000U);
  EXPECT_EQ(track.faults().glitches, 1U);
  EXPECT_EQ(track.faults().resets, 0U);
}

TEST(Counter, AnUnfilteredJumpForwardIsLeftOut) {
  // AMD 7840HS: 64,852 W for one sample.
  SourceInfo info = package();
  CounterTrack track(info);
  track.update(1'000'000'000, at(0));
  track.update(1'000'000'000 + 64'852'000'000, at(1));
  track.update(1'060'000'000, at(2));
  EXPECT_EQ(track.total_micro(), 60'000'000U);
  EXPECT_EQ(track.faults().glitches, 1U);
}

TEST(Counter, AFrozenCounterThatRecoversShowsWhatItHeldBack) {
  // Read every 0.1 s at 650 W; between 1 and 2 s it stands still, then shows all of it.
  CounterTrack track(gpu());
  for (int i = 0; i <= 40; ++i) {
    const double t = i * 0.1;
    const double shown = t > 1 && t < 2 ? 1 : t;
    track.update(static_cast<std::uint64_t>(5e9 + 650e6 * shown), at(t));
  }
  EXPECT_NEAR(static_cast<double>(track.total_micro()), 650e6 * 4, 10);
  EXPECT_EQ(track.faults().resets, 0U);
  EXPECT_EQ(track.faults().glitches, 0U);
  EXPECT_EQ(track.faults().leaps, 0U);
}

TEST(Counter, ALeapForwardIsNeverAReset) {
  CounterTrack track(gpu());
  track.update(5'000'000'000, at(0));
  track.update(5'000'000'000 + 900'000'000'000, at(0.1));  // 900 kJ in 0.1 s
  track.update(5'000'000'000 + 900'065'000'000, at(0.2));
  EXPECT_EQ(track.faults().leaps, 1U);
  EXPECT_EQ(track.faults().resets, 0U);
  EXPECT_EQ(track.total_micro(), 65'000'000U);
}

TEST(Counter, AWrapIsNotExcusedByAStandstill) {
  CounterTrack track(package());
  track.update(40'000'000'000, at(0));
  for (int i = 1; i <= 3000; ++i) track.update(40'000'000'000, at(0.1 * i));
  track.update(10'000'000, at(300.1));  // 222 kJ would be possible since it last moved
  track.update(20'000'000, at(300.2));
  EXPECT_EQ(track.faults().wraps, 0U);
  EXPECT_EQ(track.faults().resets, 1U);
}

TEST(Counter, ASmallStepBackIsLeftOut) {
  CounterTrack track(gpu());
  track.update(1'000'000'000, at(0));
  track.update(999'000'000, at(0.1));
  EXPECT_TRUE(track.suspect());
  track.update(1'070'000'000, at(0.2));
  EXPECT_EQ(track.total_micro(), 70'000'000U);
}

TEST(Counter, AFrozenValueKeepsItsTimeOfLastChange) {
  CounterTrack track(gpu());
  track.update(7, at(0));
  track.update(100'007, at(1));
  track.update(100'007, at(9));
  EXPECT_EQ(track.last_change(), at(1));
}

TEST(Counter, AGapThatCouldHideASecondWrapIsReported) {
  CounterTrack track(package());
  track.update(0, at(0));
  track.update(1'000'000, at(3600));
  EXPECT_EQ(track.faults().blind, 1U);
}

TEST(Counter, RebaseDropsWhatHappenedDuringSuspend) {
  CounterTrack track(package());
  track.update(1'000'000, at(0));
  track.update(2'000'000, at(1));
  track.rebase();
  track.update(90'000'000, at(2));
  track.update(91'000'000, at(3));
  EXPECT_EQ(track.total_micro(), 2'000'000U);
}

TEST(Counter, WhateverMovesForwardIsNeverAReset) {
  EXPECT_TRUE(rc::check("no course that only rises has a reset", [] {
    CounterTrack track(gpu());
    std::uint64_t raw = *rc::gen::inRange<std::uint64_t>(0, 1'000'000'000'000);
    double now = 0;
    track.update(raw, at(now));
    for (const std::uint64_t step : *rc::gen::container<std::vector<std::uint64_t>>(
             rc::gen::inRange<std::uint64_t>(0, 2'000'000'000'000))) {
      // Half of them stand still; the others run from nothing to a thousand times what is possible.
      raw += step % 2 == 0 ? 0 : step;
      now += 0.1;
      track.update(raw, at(now));
    }
    RC_ASSERT(track.faults().resets == 0U);
  }));
}

TEST(Counter, AnyTrueCourseIsRecoveredThroughWraps) {
  EXPECT_TRUE(
      rc::check("total equals the energy fed in, whatever the steps and the starting point", [] {
        const SourceInfo info = package();
        CounterTrack track(info);
        std::uint64_t truth = *rc::gen::inRange<std::uint64_t>(0, info.modulus_micro);
        const std::uint64_t start = truth;
        double now = 0;
        track.update(truth % info.modulus_micro, at(now));
        for (const std::uint32_t step :
             *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange(0U, 40'000'000U))) {
          truth += std::uint64_t{step} * 1000;  // up to 40 kJ in 30 s: 1333 W
          now += 30;
          track.update(truth % info.modulus_micro, at(now));
        }
        RC_ASSERT(track.total_micro() == truth - start);
      }));
}
}  // namespace
}  // namespace perjoule
