#include "meter/timeline.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace perjoule {
namespace {

TEST(Timeline, ThinningLosesNoJouleAndNoEdge) {
  EXPECT_TRUE(rc::check("first, last and total survive any overflow", [] {
    const auto capacity = *rc::gen::inRange<std::size_t>(4, 40);
    const auto count = *rc::gen::inRange<int>(1, 2000);
    Timeline timeline(capacity);
    for (int i = 0; i < count; ++i)
      timeline.add(Instant{i * 1000}, static_cast<std::uint64_t>(i) * 7);
    RC_ASSERT(timeline.size() <= capacity);
    RC_ASSERT(timeline.time(0).ns == 0);
    RC_ASSERT(timeline.time(timeline.size() - 1).ns == (count - 1) * 1000);
    double energy = 0;
    for (std::size_t i = 0; i + 1 < timeline.size(); ++i) {
      RC_ASSERT(timeline.time(i) < timeline.time(i + 1));
      energy += (timeline.power(i) * (timeline.time(i + 1) - timeline.time(i))).value();
    }
    RC_ASSERT(std::abs(energy - (count - 1) * 7e-6) < 1e-12 + 1e-9 * energy);
  }));
}

TEST(Timeline, PowerIsTheDifferenceOverTime) {
  Timeline timeline(8);
  timeline.add(Instant{0}, 0);
  timeline.add(Instant{1'000'000'000}, 250'000'000);
  EXPECT_DOUBLE_EQ(timeline.power(0).value(), 250);
}

TEST(Timeline, EvenPowerKeepsTheEnergy) {
  Timeline timeline(64);
  double total = 0;
  std::int64_t at = 0;
  for (int i = 0; i < 50; ++i) {
    timeline.add(Instant{at}, static_cast<std::uint64_t>(total));
    at += 7'000'000 + (i % 3) * 1'000'000;
    total += 100'000 + i * 1000;
  }
  const std::vector<float> watts = timeline.even_power(Seconds(0.01));
  double energy = 0;
  for (const float w : watts) energy += static_cast<double>(w) * 0.01;
  const double whole = static_cast<double>(timeline.total_micro(49)) * 1e-6;
  EXPECT_NEAR(energy, whole, whole * 0.04);  // the last step is not full
  EXPECT_TRUE(Timeline(8).even_power(Seconds(1)).empty());
}

TEST(Timeline, MissedTicksAreCounted) {
  Timeline timeline(8);
  timeline.note_gap(3);
  EXPECT_EQ(timeline.missed_ticks(), 3U);
}
}  // namespace
}  // namespace perjoule
