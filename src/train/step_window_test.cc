#include "train/step_window.h"

#include <gtest/gtest.h>

#include <cmath>

namespace perjoule {
namespace {

/// Running totals of a training of two GPUs at 100 and 200 W.
class Course {
 public:
  Course() {
    totals_.energy.status = Status::kMeasured;
    totals_.gpus.resize(2);
    for (Energy& energy : totals_.gpus) energy.status = Status::kMeasured;
  }
  /// Steps take that long together, at that power instead.
  StepTotals& pass(double seconds, double steps, double watts = 300) {
    totals_.time += Seconds(seconds);
    totals_.steps += steps;
    totals_.energy.joules += Joules(seconds * watts);
    totals_.energy.random = Joules(0.5);
    totals_.gpus[0].joules += Joules(seconds * watts / 3);
    totals_.gpus[1].joules += Joules(seconds * watts * 2 / 3);
    return totals_;
  }
  const StepTotals& totals() const { return totals_; }

 private:
  StepTotals totals_;
};

void expect_taken(const StepWindow& window, double steps, double seconds, double watts = 300) {
  const StepTotals took = window.taken();
  EXPECT_NEAR(took.steps, steps, 1e-9);
  EXPECT_NEAR(took.time.value(), seconds, 1e-9);
  EXPECT_NEAR(took.energy.joules.value(), seconds * watts, 1e-6);
  ASSERT_EQ(took.gpus.size(), 2U);
  EXPECT_NEAR(took.gpus[0].joules.value(), seconds * watts / 3, 1e-6);
  EXPECT_NEAR(took.gpus[1].joules.value(), seconds * watts * 2 / 3, 1e-6);
}

TEST(StepWindow, WithoutStallsItIsTheDifferenceOfItsEnds) {
  Course course;
  course.pass(7, 3);
  StepWindow window(course.totals(), 2);
  EXPECT_EQ(window.began(), Seconds(7));
  for (int i = 0; i < 10; ++i) window.tell(course.pass(0.1, 2));
  window.tell(course.pass(5, 0));  // no step: nothing to reckon it to yet
  expect_taken(window, 20, 1);
  EXPECT_EQ(window.stalls(), 0);
  // A tick at either end, and none between.
  EXPECT_NEAR(window.taken().energy.random.value(), std::hypot(0.5, 0.5), 1e-9);
}

TEST(StepWindow, APauseTakesTheNextStepWithIt) {
  Course course;
  StepWindow window(course.totals(), 0);
  for (int i = 0; i < 4; ++i) window.tell(course.pass(0.1, 1));
  window.pause();
  course.pass(1, 0, 90);  // validation, of less than a step would do as well
  window.tell(course.pass(0.1, 1));
  for (int i = 0; i < 4; ++i) window.tell(course.pass(0.1, 1));
  expect_taken(window, 8, 0.8);
  EXPECT_EQ(window.stalls(), 0);
}

TEST(StepWindow, AStallIsLeftOutWhereverItLies) {
  for (const int at : {0, 3, 9}) {
    Course course;
    StepWindow window(course.totals(), 2);
    for (int i = 0; i < 10; ++i) {
      if (i == at) course.pass(0.5, 0, 90);  // validation that nobody told of
      window.tell(course.pass(0.1, 1));
    }
    expect_taken(window, 9, 0.9);
    EXPECT_EQ(window.stalls(), 1);
  }
}

TEST(StepWindow, OfTwoStretchesOneMayBeAStall) {
  Course course;
  StepWindow window(course.totals(), 2);
  window.tell(course.pass(2, 1));
  expect_taken(window, 1, 2);  // nothing to compare it with
  window.tell(course.pass(0.1, 1));
  expect_taken(window, 1, 0.1);
}

TEST(StepWindow, StepsOfUnlikeLengthAllCount) {
  Course course;
  StepWindow window(course.totals(), 2);
  for (int i = 0; i < 20; ++i) window.tell(course.pass(i % 3 == 0 ? 0.5 : 0.1, 1));
  expect_taken(window, 20, 7 * 0.5 + 13 * 0.1);
  EXPECT_EQ(window.stalls(), 0);
}

TEST(StepWindow, AFactorOfNoneCountsAll) {
  Course course;
  StepWindow window(course.totals(), 0);
  for (int i = 0; i < 10; ++i) window.tell(course.pass(i == 4 ? 50 : 0.1, 1));
  expect_taken(window, 10, 50.9);
}

TEST(StepWindow, ItsTimeIsAsWellKnownAsItsStretchesAgree) {
  Course course;
  StepWindow window(course.totals(), 0);
  for (int i = 0; i < 3; ++i) window.tell(course.pass(i % 2 == 0 ? 0.11 : 0.09, 1));
  EXPECT_EQ(window.time_error(), 0);  // too few to tell
  for (int i = 3; i < 40; ++i) window.tell(course.pass(i % 2 == 0 ? 0.11 : 0.09, 1));
  EXPECT_NEAR(window.time_error(), 0.1 * std::sqrt(40.0 / 39) / std::sqrt(40), 1e-9);
  // Stretches of several steps say the same of a step; folding forgets nothing.
  for (int i = 0; i < 960; ++i) window.tell(course.pass(i % 2 == 0 ? 0.44 : 0.36, 4));
  const double step = std::sqrt((40 * 1e-4 + 960 * 16e-4 / 4) / 999);
  EXPECT_NEAR(window.time_error(), step / 0.1 / std::sqrt(40 + 960 * 4), 1e-6);
}

TEST(StepWindow, WhatIsLeftOutSaysNothingOfHowWellTheTimeIsKnown) {
  Course course;
  StepWindow window(course.totals(), 2);
  for (int i = 0; i < 40; ++i) window.tell(course.pass(i == 20 ? 5 : 0.1, 1));
  EXPECT_NEAR(window.time_error(), 0, 1e-12);
}

TEST(StepWindow, LongWindowsAreFolded) {
  Course course;
  StepWindow window(course.totals(), 2);
  int stalls = 0;
  for (int i = 0; i < 5000; ++i) {
    const bool stall = i % 100 == 50;
    if (stall) course.pass(1, 0, 90);
    stalls += stall ? 1 : 0;
    window.tell(course.pass(0.01, 1));
  }
  EXPECT_EQ(window.stalls(), stalls);
  expect_taken(window, 5000 - stalls, (5000 - stalls) * 0.01);
}

}  // namespace
}  // namespace perjoule
