#include "meter/counter_course.h"

#include <gtest/gtest.h>

#include <cmath>

#include "math/random.h"
#include "meter/course_energy.h"
#include "meter/test_counter.h"

namespace perjoule {
namespace {

using namespace test_counter;

TEST(CounterCourse, KnowsTheTicksOnEitherSideOfAMoment) {
  CounterCourse course;
  EXPECT_FALSE(course.around(Seconds(1)));
  EXPECT_FALSE(course.begins_before(Seconds(1)));
  course.add(std::vector<CounterTick>{tick_at(1), tick_at(1.5)});
  course.add(std::vector<CounterTick>{tick_at(2.5)});
  EXPECT_FALSE(course.around(Seconds(0.9))) << "nobody knows what was drawn before";
  EXPECT_FALSE(course.begins_before(Seconds(0.9)));
  EXPECT_TRUE(course.begins_before(Seconds(1)));
  const auto within = course.around(Seconds(2));
  ASSERT_TRUE(within);
  EXPECT_EQ(within->before.at, Seconds(1.5));
  EXPECT_EQ(within->after.at, Seconds(2.5));
  EXPECT_NEAR(within->power().value(), drawn_until(2.5) - drawn_until(1.5), 1e-9);
  // A moment of a tick is told by that tick, once there is another one.
  EXPECT_EQ(course.around(Seconds(1.5))->before.at, Seconds(1.5));
  EXPECT_FALSE(course.around(Seconds(2.5)));
}

TEST(CounterCourse, ForgetsOnlyWhatTellsNothingOfLaterMoments) {
  CounterCourse course;
  course.add(ticks(0, 1));
  course.forget_before(Seconds(0.55));
  EXPECT_FALSE(course.around(Seconds(0.45)));
  EXPECT_EQ(course.around(Seconds(0.55))->before.at, tick_at(0.5).at);
  course.forget_before(Seconds(7));
  EXPECT_TRUE(course.begins_before(Seconds(0.95)));
  course.add(ticks(1, 1.05));
  ASSERT_TRUE(course.around(Seconds(0.95))) << "the last tick is never forgotten";
}

/// The counter, read four times a tick as the sampler does, until `until`.
std::unique_ptr<Timeline> watched(double until, double phase = 0) {
  auto timeline = std::make_unique<Timeline>(100'000);
  for (double at = 0; at < until; at += kTick / 4) {
    const double shown = std::max(0.0, std::floor((at - phase) / kTick) * kTick + phase);
    timeline->add(Instant{} + Seconds(at), static_cast<std::uint64_t>(drawn_until(shown) * 1e6));
  }
  return timeline;
}

std::vector<Course> courses(double until, double phase = 0) {
  std::vector<Course> all;
  all.push_back({counter(), watched(until, phase)});
  return all;
}

TEST(CourseEnergy, IsWhatWasDrawnWithinWhatItSays) {
  Random random(7);
  int within = 0;
  for (int run = 0; run < 400; ++run) {
    const double from = 1 + random.uniform() * 3, until = from + 0.3 + random.uniform() * 5;
    const auto all = courses(12, random.uniform() * kTick);
    const Energy told =
        measurement_between(all, {}, Instant{} + Seconds(from), Instant{} + Seconds(until)).total();
    const double error = told.joules.value() - (drawn_until(until) - drawn_until(from));
    within += std::abs(error) <= told.expanded_uncertainty().value();
    EXPECT_LT(told.expanded_uncertainty().value(), 300 * kTick);
  }
  EXPECT_GE(within, 380);
}

TEST(CourseEnergy, WindowsSideBySideAddUp) {
  const auto all = courses(20, 0.013);
  const auto between = [&](double from, double until) {
    return measurement_between(all, {}, Instant{} + Seconds(from), Instant{} + Seconds(until))
        .total()
        .joules.value();
  };
  EXPECT_NEAR(between(1.234, 7.7) + between(7.7, 15.01), between(1.234, 15.01), 1e-6);
}

TEST(CourseEnergy, WhatWasNotWatchedIsMissing) {
  const auto all = courses(5);
  for (const auto& [from, until] :
       {std::pair{0.0, 3.0}, std::pair{1.0, 4.99}, std::pair{6.0, 8.0}}) {
    const Measurement told =
        measurement_between(all, {}, Instant{} + Seconds(from), Instant{} + Seconds(until));
    EXPECT_EQ(told.total().status, Status::kMissing) << from;
    ASSERT_EQ(told.sources.size(), 1u);
    EXPECT_FALSE(told.sources[0].notes.empty());
  }
}

TEST(CourseEnergy, AGaugeIsIntegrated) {
  SourceInfo gauge;
  gauge.id = "gpu:a/power";
  gauge.device = "gpu:a";
  gauge.kind = SourceKind::kPowerGauge;
  gauge.tick = Seconds(kTick);
  gauge.quantum = 0;
  gauge.status = Status::kMeasured;
  std::vector<Course> all;
  all.push_back({gauge, std::make_unique<Timeline>(1000)});
  for (int i = 0; i < 100; ++i)
    all[0].timeline->add(Instant{} + Seconds(0.1 * i), static_cast<std::uint64_t>(25e6 * i));
  const Energy told =
      measurement_between(all, {}, Instant{} + Seconds(1.05), Instant{} + Seconds(8)).total();
  EXPECT_NEAR(told.joules.value(), 250 * 6.95, 1e-3);
  EXPECT_EQ(told.status, Status::kMeasured);
}

TEST(CourseEnergy, WhatTheWindowAroundItHasSeenIsSaid) {
  const auto all = courses(12);
  Measurement around;
  around.duration = Seconds(12);
  SourceMeasurement& seen = around.sources.emplace_back();
  seen.info = counter();
  seen.energy.joules = Joules(3000);
  seen.energy.status = Status::kSimulated;
  const auto between = [&] {
    return measurement_between(all, around, Instant{} + Seconds(2), Instant{} + Seconds(8));
  };
  EXPECT_FALSE(between().total().one_sided());
  seen.energy.lower_bound = true;
  seen.notes = {"was reset: lower bound"};
  EXPECT_TRUE(between().total().lower_bound);
  EXPECT_EQ(between().sources[0].notes, seen.notes);
  seen.energy.status = Status::kMissing;
  EXPECT_EQ(between().total().status, Status::kMissing);
  // A model is as sure of a part as it is of the whole.
  seen.energy.status = seen.info.status = Status::kEstimated;
  seen.energy.systematic = {{"cpu:0/model", Joules(1500)}};
  seen.energy.lower = Joules(1000);
  seen.energy.upper = Joules(9000);
  const Energy part = between().total();
  EXPECT_NEAR(part.systematic.at(0).sigma / part.joules, 0.5, 1e-9);
  EXPECT_NEAR(part.lower / part.joules, 1.0 / 3, 1e-9);
  EXPECT_NEAR(part.upper / part.joules, 3, 1e-9);
}

}  // namespace
}  // namespace perjoule
