#include "math/rhythm.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "math/random.h"

namespace perjoule {
namespace {

/// What a sensor shows of a device that is busy for a share of each period: the mean of each
/// sample, as an energy counter gives it.
struct Work {
  double period = 10;  // samples
  double duty = 0.7;
  double phase = 0;   // samples
  double jitter = 0;  // standard deviation of a period, relative
  double noise = 0;   // watts
  double idle = 100;
  double busy = 300;
};

std::vector<float> shown(const Work& work, std::size_t samples, std::uint64_t seed = 1) {
  Random random(seed);
  std::vector<double> energy(samples + 1);
  const auto spend = [&](double from, double to, double watts) {
    for (auto i = static_cast<std::size_t>(std::max(from, 0.0)); i < samples; ++i) {
      const double low = std::max(from, static_cast<double>(i));
      const double high = std::min(to, static_cast<double>(i + 1));
      if (low >= to) break;
      if (high > low) energy[i] += (high - low) * watts;
    }
  };
  double at = -work.phase;
  while (at < static_cast<double>(samples)) {
    const double length = work.period * (1 + work.jitter * random.normal());
    spend(at, at + work.duty * length, work.busy);
    spend(at + work.duty * length, at + length, work.idle);
    at += length;
  }
  std::vector<float> series(samples);
  for (std::size_t i = 0; i < samples; ++i)
    series[i] = static_cast<float>(energy[i] + work.noise * random.normal());
  return series;
}

TEST(Rhythm, FindsThePeriodBetweenSamples) {
  for (const double period : {4.3, 5.5, 8.4, 12.0, 33.37}) {
    const auto rhythm = find_rhythm(shown({.period = period, .duty = 0.9}, 800));
    ASSERT_TRUE(rhythm) << period << ": " << rhythm.error().message;
    EXPECT_NEAR(rhythm->period, period, 0.005 * period);
    EXPECT_GT(rhythm->regularity, 0.6);
  }
}

TEST(Rhythm, KeepsToItsOwnUncertaintyUnderNoiseAndJitter) {
  EXPECT_TRUE(rc::check("the period is found, or none is claimed", [] {
    Work work;
    work.period = 4.2 + 0.01 * *rc::gen::inRange(0, 4000);
    work.duty = 0.01 * *rc::gen::inRange(30, 95);
    work.phase = 0.01 * *rc::gen::inRange(0, 400);
    work.jitter = 0.001 * *rc::gen::inRange(0, 30);
    work.noise = *rc::gen::inRange(0, 20);
    const auto seed = *rc::gen::arbitrary<std::uint32_t>();
    const auto samples = static_cast<std::size_t>(work.period * *rc::gen::inRange(20, 60));
    const auto rhythm = find_rhythm(shown(work, samples, seed));
    if (!rhythm) return;
    const double tolerance = std::max(0.02 * work.period, 4 * rhythm->sigma);
    RC_ASSERT(std::abs(rhythm->period - work.period) < tolerance);
  }));
}

TEST(Rhythm, UsualStepsAreFound) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Work work{.period = 5 + 0.3 * static_cast<double>(seed), .jitter = 0.01, .noise = 10};
    found += find_rhythm(shown(work, 1200, seed)) ? 1 : 0;
  }
  EXPECT_GE(found, 95);
}

TEST(Rhythm, StepsWithPartsAreCountedWhole) {
  // Three quick parts and a long pause: a quarter of the period repeats too, but not as well.
  std::vector<float> series;
  for (int step = 0; step < 40; ++step) {
    for (int part = 0; part < 4; ++part) {
      for (int i = 0; i < 6; ++i) series.push_back(part == 3 ? 90.0F : i < 4 ? 300.0F : 200.0F);
    }
  }
  const auto rhythm = find_rhythm(series);
  ASSERT_TRUE(rhythm) << rhythm.error().message;
  EXPECT_NEAR(rhythm->period, 24, 0.1);
}

TEST(Rhythm, OfTwoThatAreAsGoodTheExpectedOneIsTaken) {
  const auto series = shown({.period = 10, .duty = 0.6}, 600);
  EXPECT_NEAR(find_rhythm(series)->period, 10, 0.05);
  RhythmDemands demands;
  demands.expected_above = 18;
  demands.expected_below = 23;
  EXPECT_NEAR(find_rhythm(series, demands)->period, 20, 0.1);
  demands.expected_above = 23;
  demands.expected_below = 28;  // there is none
  EXPECT_NEAR(find_rhythm(series, demands)->period, 10, 0.05);
}

std::string refusal(const std::vector<float>& series) {
  const auto rhythm = find_rhythm(series);
  return rhythm ? "" : rhythm.error().message;
}

TEST(Rhythm, SaysWhyThereIsNone) {
  EXPECT_EQ(refusal(std::vector<float>(20, 250.0F)), "too short a series for a rhythm");
  EXPECT_EQ(refusal(std::vector<float>(500, 250.0F)), "the series is even");
  EXPECT_EQ(refusal(shown({.noise = 2, .idle = 250, .busy = 250}, 500)), "the series is even");
  EXPECT_EQ(refusal(shown({.period = 3, .duty = 0.5}, 500)),
            "a rhythm of 3.0 samples is too fast for the sampling");
  EXPECT_EQ(
      refusal(shown({.period = 2.6, .duty = 0.5}, 500)),
      "what repeats every 13.0 samples is mostly a wave of 2.6, too fast for the sampling: it "
      "may be an alias");
}

TEST(Rhythm, ARippleWithinSlowStepsIsNotCalledAFastStep) {
  // Steps of 20 samples, whose power swings more within them than from one to the next.
  std::vector<float> series;
  for (int i = 0; i < 800; ++i) {
    const double ripple = 40 * std::sin(2 * std::numbers::pi * i * 6 / 20);
    series.push_back(static_cast<float>(250 + ripple - (i % 20 < 4 ? 25 : 0)));
  }
  const std::string why = refusal(series);
  EXPECT_TRUE(why.starts_with("what repeats every 20.0 samples is mostly a wave of 3.3")) << why;
}

TEST(Rhythm, ChanceAndDriftAreNone) {
  EXPECT_TRUE(rc::check("noise, wandering and a trend have no rhythm", [] {
    Random random(*rc::gen::arbitrary<std::uint32_t>());
    const auto samples = *rc::gen::inRange<std::size_t>(40, 1500);
    const double memory = *rc::gen::element(0.0, 0.5, 0.9, 1.0);
    std::vector<float> series;
    double state = 0;
    for (std::size_t i = 0; i < samples; ++i) {
      state = memory * state + 10 * random.normal();
      series.push_back(static_cast<float>(300 + state + 0.1 * static_cast<double>(i)));
    }
    RC_ASSERT(!find_rhythm(series));
  }));
}

}  // namespace
}  // namespace perjoule
