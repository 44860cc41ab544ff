#include "meter/power_course.h"

#include <gtest/gtest.h>

#include <numbers>

#include "meter/fake_source.h"
#include "meter/sampler.h"

namespace perjoule {
namespace {

constexpr double kTick = 0.1;

class Course : public ::testing::Test {
 protected:
  /// Lets so many seconds pass, read by the schedule of a thread that wakes up late at times.
  void pass(double seconds) {
    const int turns = static_cast<int>(seconds / 0.025);
    for (int i = 0; i < turns; ++i) {
      const double late = i % 7 == 3 ? 0.011 : 0;
      clock_.advance(Seconds(0.025 + late));
      schedule_.run(clock_.now());
      clock_.advance(Seconds(-late));
    }
  }

  static double wave(double t) { return 200 + 100 * std::sin(2 * std::numbers::pi * t / 1.3); }

  VirtualClock clock_;
  FakeSource first_{fake_counter("gpu:a", kTick), clock_, wave};
  FakeSource second_{fake_counter("gpu:b", kTick), clock_, [](double) { return 50.0; }};
  FakeSource gauge_{[] {
                      SourceInfo info = fake_counter("gpu:a/power", kTick);
                      info.kind = SourceKind::kPowerGauge;
                      info.overlaps = "gpu:a";
                      info.averaging = Seconds(1);
                      return info;
                    }(),
                    clock_, wave};
  Meter meter_{{&first_, &second_, &gauge_}, clock_, 1U << 20U};
  SampleSchedule schedule_{meter_, Seconds(kTick), SamplePace::kSeesTicks};
  PowerCourse course_{meter_};
};

TEST_F(Course, CountersAreReadOftenEnoughToSeeTheirTicksAndGaugesAreNot) {
  EXPECT_DOUBLE_EQ(schedule_.period().value(), kTick / 4);
  EXPECT_DOUBLE_EQ(course_.step().value(), kTick);
  pass(5);
  EXPECT_NEAR(first_.reads, 200, 4);
  EXPECT_NEAR(gauge_.reads, 50, 4);
}

TEST_F(Course, IsTheSumInEvenStepsHoweverTheReadingsFell) {
  pass(0.337);
  course_.restart();
  pass(10);
  const auto watts = course_.watts();
  ASSERT_NEAR(static_cast<double>(watts.size()), 98, 3);
  double sum = 0;
  double swing = 0;
  for (const float w : watts) {
    sum += w;
    swing = std::max(swing, std::abs(w - 250.0));
    // A tick is known to a quarter of it: no step shows nothing, or two ticks at once.
    EXPECT_GT(w, 90);
    EXPECT_LT(w, 410);
  }
  EXPECT_NEAR(sum / static_cast<double>(watts.size()), 250, 10);
  EXPECT_GT(swing, 80);
}

TEST_F(Course, ForgetsWhatWasBefore) {
  pass(3);
  EXPECT_GT(course_.watts().size(), 20U);
  course_.restart();
  EXPECT_TRUE(course_.watts().empty());
  pass(1);
  EXPECT_LE(course_.watts().size(), 10U);
}

TEST_F(Course, OfASourceThatTellsNothingThereIsNone) {
  second_.code = ErrorCode::kPermissionDenied;
  pass(2);
  EXPECT_TRUE(course_.watts().empty());
}

}  // namespace
}  // namespace perjoule
