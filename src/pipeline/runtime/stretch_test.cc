#include "pipeline/runtime/stretch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "math/random.h"
#include "meter/test_counter.h"

namespace perjoule {
namespace {

using namespace test_counter;

IterationReport iteration(double begin, double end) {
  IterationReport report;
  report.begin = Seconds(begin);
  report.end = Seconds(end);
  return report;
}

TEST(RankStretch, ItsEnergyIsWhatWasDrawn) {
  Random random(5);
  for (int run = 0; run < 200; ++run) {
    CounterCourse course;
    RankStretch stretch;
    const double begin = 1 + random.uniform();
    const double took = 0.05 + random.uniform();
    const int count = 1 + static_cast<int>(random.uniform() * 20);
    course.add(ticks(0, begin));
    for (int i = 0; i < count; ++i) {
      const double from = begin + i * took;
      course.add(ticks(from, from + took));
      stretch.add(iteration(from, from + took), course);
    }
    const double end = begin + count * took;
    course.add(ticks(end, end + 2 * kTick));
    stretch.look_again(course);
    EXPECT_FALSE(stretch.waits_for());
    const Energy told = stretch.mean_energy(counter());
    const double truth = (drawn_until(end) - drawn_until(begin)) / count;
    EXPECT_NEAR(told.joules.value(), truth, 1.5 * told.expanded_uncertainty().value()) << run;
    EXPECT_EQ(told.status, Status::kSimulated);
    EXPECT_EQ(told.source, "gpu:a/energy");
  }
}

TEST(RankStretch, StretchesThatFollowOneAnotherAddUpToTheCourse) {
  const double took = 0.37;
  CounterCourse course;
  course.add(ticks(0, 40));
  double sum = 0, now = 1.234;
  double variance = 0;
  const double begin = now;
  for (const int count : {1, 7, 3, 1, 1, 20, 2}) {
    RankStretch stretch;
    for (int i = 0; i < count; ++i, now += took) stretch.add(iteration(now, now + took), course);
    const Energy told = stretch.mean_energy(counter());
    sum += told.joules.value() * count;
    variance += std::pow(told.standard_uncertainty().value() * count, 2);
  }
  EXPECT_NEAR(sum, drawn_until(now) - drawn_until(begin), 2 * std::sqrt(variance));
  // What one stretch is given at its end is what the next one lacks at its beginning: all that is
  // uncertain of the sum are its two ends.
  RankStretch whole;
  whole.add(iteration(begin, now), course);
  EXPECT_NEAR(sum, whole.mean_energy(counter()).joules.value(), 1e-6);
}

TEST(RankStretch, TheMoreIterationsTheBetterItIsKnown) {
  CounterCourse course;
  course.add(ticks(0, 200));
  double last = 0;
  for (const int count : {1, 4, 16, 64}) {
    RankStretch stretch;
    for (int i = 0; i < count; ++i) stretch.add(iteration(1.05 + i, 2.05 + i), course);
    const double known_to = stretch.mean_energy(counter()).expanded_uncertainty().value();
    EXPECT_GT(known_to, 0);
    // The ends are as uncertain as before, and there are four times as many between them.
    if (last > 0) {
      EXPECT_NEAR(known_to, last / 4, 1e-9);
    }
    last = known_to;
  }
}

TEST(RankStretch, ACountersErrorOfGainDoesNotShrink) {
  SourceInfo info = counter();
  info.gain = 0.05;
  CounterCourse course;
  course.add(ticks(0, 70));
  RankStretch stretch;
  for (int i = 0; i < 60; ++i) stretch.add(iteration(1.05 + i, 2.05 + i), course);
  const Energy told = stretch.mean_energy(info);
  ASSERT_EQ(told.systematic.size(), 1U);
  EXPECT_NEAR(told.systematic[0].sigma / told.joules, 0.05 / std::sqrt(3), 1e-9);
}

TEST(RankStretch, ATickThatComesLateTellsTheEndBefore) {
  CounterCourse course;
  RankStretch stretch;
  course.add(ticks(0, 1.02));
  stretch.add(iteration(1.02, 1.05), course);
  EXPECT_EQ(stretch.waits_for(), Seconds(1.02)) << "not even the beginning is known";
  EXPECT_EQ(stretch.mean_energy(counter()).status, Status::kMissing);
  stretch.add(iteration(1.05, 1.08), course);
  EXPECT_EQ(stretch.waits_for(), Seconds(1.02));
  // The tick at 1.1 comes with the report of the third, and tells the end of the second.
  course.add(ticks(1.09, 1.11));
  stretch.add(iteration(1.08, 1.11), course);
  EXPECT_EQ(stretch.iterations(), 3);
  EXPECT_EQ(stretch.waits_for(), Seconds(1.11));
  EXPECT_NEAR(stretch.mean_energy(counter()).joules.value(), 0.03 * 300, 1e-6);
  EXPECT_NEAR(stretch.mean_time().value(), 0.03, 1e-12);
  // Which ticks tell an end is settled when it is told; looking again changes nothing.
  const Energy before = stretch.mean_energy(counter());
  stretch.look_again(course);
  EXPECT_EQ(stretch.mean_energy(counter()).joules, before.joules);
  course.add(ticks(1.2, 1.35));
  stretch.look_again(course);
  EXPECT_FALSE(stretch.waits_for());
  EXPECT_NEAR(stretch.mean_energy(counter()).joules.value(), 0.03 * 300, 1e-6);
}

TEST(RankStretch, WhatWasDrawnBeforeTheFirstTickIsNotMadeUp) {
  CounterCourse course;
  RankStretch stretch;
  course.add(ticks(2.2, 3));
  stretch.add(iteration(1, 3), course);
  EXPECT_FALSE(stretch.waits_for());
  EXPECT_EQ(stretch.mean_energy(counter()).status, Status::kMissing);
  course.add(ticks(3, 8.1));
  for (int i = 3; i < 8; ++i) stretch.add(iteration(i, i + 1), course);
  EXPECT_EQ(stretch.iterations(), 6);
  EXPECT_NEAR(stretch.mean_time().value(), 7.0 / 6, 1e-12);
  EXPECT_NEAR(stretch.mean_energy(counter()).joules.value(), 0.8 * 300 + 0.2 * 70, 1e-6)
      << "of those whose energy is known";
}

TEST(RankStretch, ACounterThatNeverTicksLeavesTheTimesAndNoEnergy) {
  CounterCourse course;
  RankStretch stretch;
  for (int i = 0; i < 5; ++i) stretch.add(iteration(i, i + 0.5), course);
  stretch.look_again(course);
  EXPECT_EQ(stretch.iterations(), 5);
  EXPECT_EQ(stretch.mean_time(), Seconds(0.5));
  EXPECT_EQ(stretch.median_time(), Seconds(0.5));
  EXPECT_FALSE(stretch.waits_for()) << "nothing of the course is needed";
  const Energy told = stretch.mean_energy(counter());
  EXPECT_EQ(told.status, Status::kMissing);
  EXPECT_EQ(told.source, "gpu:a/energy");
}

TEST(RankStretch, ACounterThatStopsTickingLeavesWhatItTold) {
  CounterCourse course;
  RankStretch stretch;
  course.add(ticks(0, 4.2));
  for (int i = 1; i < 10; ++i) stretch.add(iteration(i, i + 1), course);
  EXPECT_EQ(stretch.waits_for(), Seconds(10));
  EXPECT_NEAR(stretch.mean_energy(counter()).joules.value(), 0.8 * 300 + 0.2 * 70, 1e-6)
      << "the three whose ends were told";
}

TEST(RankStretch, ForgettingWhatNothingWaitsForChangesNothing) {
  Random random(8);
  CounterCourse all, some;
  RankStretch kept, forgetting;
  double now = 0.5, seen = 0;
  for (int i = 0; i < 300; ++i) {
    const double took = 0.02 + 0.3 * random.uniform();
    // The counter is heard of late, as when its ticks travel with reports.
    const double heard = std::max(seen, now + took - 0.2 * random.uniform());
    for (CounterCourse* course : {&all, &some}) course->add(ticks(seen, heard));
    seen = heard;
    kept.add(iteration(now, now + took), all);
    forgetting.add(iteration(now, now + took), some);
    some.forget_before(
        std::min(forgetting.waits_for().value_or(Seconds(now + took)), Seconds(now + took)));
    now += took;
    ASSERT_EQ(kept.mean_energy(counter()).joules, forgetting.mean_energy(counter()).joules) << i;
    ASSERT_EQ(kept.waits_for(), forgetting.waits_for()) << i;
  }
}

TEST(RankStretch, OneThatWasHeldUpMovesTheMeanAndNotTheMedian) {
  CounterCourse course;
  RankStretch stretch;
  for (const double took : {1.0, 1.0, 9.0, 1.0, 1.0}) stretch.add(iteration(0, took), course);
  EXPECT_EQ(stretch.median_time(), Seconds(1));
  EXPECT_NEAR(stretch.mean_time().value(), 13.0 / 5, 1e-12);
}

TEST(RankStretch, TheMedianIsOfTheLastThirtyTwo) {
  CounterCourse course;
  RankStretch stretch;
  const auto run = [&](int count, double took) {
    for (int i = 0; i < count; ++i) stretch.add(iteration(0, took), course);
  };
  run(1, 1);
  run(16, 3);
  run(16, 1);
  // The oldest, of 1 s, counts no more: half of the others took 1 s, half 3 s.
  EXPECT_EQ(stretch.median_time(), Seconds(2));
  run(1, 1);
  EXPECT_EQ(stretch.median_time(), Seconds(1));
  run(32, 5);
  EXPECT_EQ(stretch.median_time(), Seconds(5));
}

}  // namespace
}  // namespace perjoule
