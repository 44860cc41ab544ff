#include "pipeline/runtime/switch_law.h"

#include <gtest/gtest.h>

#include <vector>

#include "math/random.h"

namespace perjoule {
namespace {

/// Changes between clocks of 1,410 MHz and below, with a few that something else held up.
std::vector<SwitchSample> samples(double constant, double linear, double quadratic) {
  Random random(7);
  std::vector<SwitchSample> all;
  for (const double faster : {-0.4, -0.2, 0.05, 0.15, 0.3}) {
    for (int i = 0; i < 30; ++i) {
      const double r = faster + 0.001 * random.uniform();
      double longer = constant + 1e-5 * (random.uniform() - 0.5);
      if (r > 0) longer += linear * r + quadratic * r * r;
      if (i % 8 == 0) longer += 0.008;
      all.push_back({r, Seconds(longer)});
    }
  }
  return all;
}

TEST(SwitchLaw, TellsAnEvenLatencyFromAClimbFromAPause) {
  for (const auto& [constant, linear, quadratic] :
       {std::tuple{0.0, 0.02, 0.0}, {0.0, 0.0, 0.05}, {0.001, 0.0, 0.0}, {0.0005, 0.01, 0.04}}) {
    const auto law = SwitchLaw::fit(samples(constant, linear, quadratic));
    ASSERT_TRUE(law);
    for (const double r : {0.05, 0.1, 0.25, 0.3}) {
      EXPECT_NEAR(law->time(r).value(), constant + linear * r + quadratic * r * r, 5e-5)
          << constant << " " << linear << " " << quadratic << " at " << r;
    }
    EXPECT_NEAR(law->time(-0.3).value(), constant, 5e-5);
  }
}

TEST(SwitchLaw, IsNeverBelowZero) {
  const auto law = SwitchLaw::fit(samples(-0.001, -0.02, 0.01));
  ASSERT_TRUE(law);
  for (const double r : {-0.3, 0.0, 0.05, 0.3}) EXPECT_GE(law->time(r).value(), 0) << r;
}

TEST(SwitchLaw, OfOneKindOfChangeIsALatency) {
  std::vector<SwitchSample> one(25, {0.2, Seconds(0.004)});
  const auto law = SwitchLaw::fit(one);
  ASSERT_TRUE(law);
  EXPECT_NEAR(law->time(0.2).value(), 0.004, 1e-9);
  EXPECT_NEAR(law->time(0.1).value(), 0.002, 1e-9);
}

TEST(SwitchLaw, WantsEnoughToGoBy) {
  EXPECT_FALSE(SwitchLaw::fit({}));
  EXPECT_FALSE(SwitchLaw::fit(std::vector<SwitchSample>(19, {0.2, Seconds(0.004)})));
}

}  // namespace
}  // namespace perjoule
