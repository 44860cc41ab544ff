#include "fleet/hands/present_load.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace perjoule {
namespace {

/// A day of two classes: 100 and 10 a second, from noon on 300 and 30.
LoadCurve day() {
  LoadCurve load;
  load.classes.assign(kLoadClasses, "");
  for (int hour = 0; hour < 24; ++hour) {
    LoadBin bin{Seconds(3600.0 * hour), Seconds(3600), std::vector<double>(kLoadClasses, 0.0)};
    bin.tokens_per_s[0] = hour < 12 ? 100 : 300;
    bin.tokens_per_s[1] = hour < 12 ? 10 : 30;
    load.bins.push_back(bin);
  }
  return load;
}

TEST(PresentLoad, CountsWhereItIsAboveWhatOtherDaysHad) {
  VirtualClock clock;
  const Instant begun = clock.now();
  const auto now = [&] { return clock.now() - begun; };
  const auto forecast = at_least_present(daily_template(day(), {}).value());
  const auto peak = [&](std::size_t one) {
    return forecast->peak(now(), now() + Seconds(1800))[one];
  };
  const auto basis = [&](std::size_t one) {
    return name_of(forecast->basis(now(), now() + Seconds(1800), one));
  };
  EXPECT_EQ(peak(0), 100);
  EXPECT_EQ(basis(0), "history");
  clock.sleep_until(begun + Seconds(5));
  forecast->observe(now(), {250, 5});
  EXPECT_EQ(peak(0), 250);
  EXPECT_EQ(basis(0), "present");
  EXPECT_NEAR(peak(1), 10, 0.1);
  EXPECT_EQ(basis(1), "history");
  // What came once is no longer present; what it stretched the template by is forgotten slowly.
  clock.sleep_until(begun + Seconds(10));
  forecast->observe(now(), {100, 10});
  EXPECT_NEAR(peak(0), 100, 1);
  EXPECT_EQ(basis(0), "history");
  // The afternoon is expected before it comes.
  clock.sleep_until(begun + Seconds(12 * 3600 - 600));
  forecast->observe(now(), {100, 10});
  EXPECT_NEAR(peak(0), 300, 1);
  EXPECT_EQ(basis(0), "history");
}

}  // namespace
}  // namespace perjoule
