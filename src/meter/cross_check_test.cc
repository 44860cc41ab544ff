#include "meter/cross_check.h"

#include <gtest/gtest.h>

#include "meter/fake_source.h"
#include "meter/meter.h"

namespace perjoule {
namespace {
using namespace literals;

SourceMeasurement measured(const std::string& id, double joules, double sigma) {
  SourceMeasurement one;
  one.info = fake_counter(id, 0.1);
  one.energy.joules = Joules(joules);
  one.energy.random = Joules(sigma);
  one.energy.status = Status::kMeasured;
  return one;
}
std::vector<SourceMeasurement> pair(double counter, double gauge, double sigma = 2) {
  std::vector<SourceMeasurement> both{measured("gpu:a", counter, sigma),
                                      measured("gpu:a/power", gauge, sigma)};
  both[1].info.kind = SourceKind::kPowerGauge;
  both[1].info.overlaps = "gpu:a";
  both[1].info.averaging = 0.5_s;
  return both;
}
std::size_t notes_after(std::vector<SourceMeasurement> sources, Seconds duration = Seconds(6)) {
  cross_check(sources, duration);
  EXPECT_TRUE(sources[1].notes.empty());
  return sources[0].notes.size();
}

TEST(CrossCheck, ACounterAndAGaugeThatDisagreeAreSaid) {
  std::vector<SourceMeasurement> sources = pair(187, 327);
  cross_check(sources, 5.5_s);
  ASSERT_EQ(sources[0].notes.size(), 1U);
  EXPECT_EQ(sources[0].notes[0],
            "disagrees with its own gauge: 187 J by the counter, 327 J by gpu:a/power; one of them "
            "is wrong");
}

TEST(CrossCheck, WithinWhatTheyKnowTheyAgree) {
  EXPECT_EQ(notes_after(pair(187, 190)), 0U);
  EXPECT_EQ(notes_after(pair(187, 327, 40)), 0U);  // uncertain enough
  EXPECT_EQ(notes_after(pair(187, 200, 1)), 0U);   // below a tenth
}

TEST(CrossCheck, ACalibrationOfOneOfThemIsNoDisagreement) {
  for (const bool counter : {true, false}) {
    std::vector<SourceMeasurement> sources = pair(300, 300);
    SourceMeasurement& corrected = sources[counter ? 0 : 1];
    corrected.info.scale = 1.2;
    corrected.info.shift = Watts(20);
    corrected.energy.joules = 1.2 * Joules(300) + Watts(20) * Seconds(6);
    EXPECT_EQ(notes_after(sources), 0U) << counter;
    // And hides none.
    corrected.energy.joules = 1.2 * Joules(150) + Watts(20) * Seconds(6);
    EXPECT_EQ(notes_after(sources), 1U) << counter;
  }
  std::vector<SourceMeasurement> both = pair(480, 480);
  for (SourceMeasurement& one : both) one.info.scale = 1.2;
  EXPECT_EQ(notes_after(both), 0U);
}

TEST(CrossCheck, WhatIsNoFigureIsNotHeldAgainstOne) {
  EXPECT_EQ(notes_after(pair(187, 327), 1.0_s), 0U);  // two averaging times
  auto bound = pair(187, 327);
  bound[0].energy.lower_bound = true;
  EXPECT_EQ(notes_after(bound), 0U);
  auto missing = pair(187, 327);
  missing[1].energy.status = Status::kMissing;
  EXPECT_EQ(notes_after(missing), 0U);
  auto memory = pair(187, 20);
  memory[1].info.scope = "memory";
  EXPECT_EQ(notes_after(memory), 0U);
}

TEST(CrossCheck, AWindowSaysSo) {
  VirtualClock clock{Instant{1'000'000'000}};
  SourceInfo gauge_info = fake_counter("gpu:a/power", 0.1);
  gauge_info.kind = SourceKind::kPowerGauge;
  gauge_info.overlaps = "gpu:a";
  FakeSource counter(fake_counter("gpu:a", 0.1), clock, [](double) { return 37.0; });
  FakeSource gauge(gauge_info, clock, [](double) { return 65.0; });
  Meter meter({&counter, &gauge}, clock);
  Window window = *meter.begin("idle");
  for (int i = 0; i < 50; ++i) {
    clock.advance(0.1_s);
    for (const auto& channel : meter.channels()) channel->sample();
  }
  const Measurement idle = window.end();
  ASSERT_EQ(idle.sources[0].notes.size(), 1U);
  EXPECT_NE(idle.sources[0].notes[0].find("disagrees"), std::string::npos);
}

}  // namespace
}  // namespace perjoule
