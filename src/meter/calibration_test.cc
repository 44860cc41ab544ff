#include "meter/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/file.h"
#include "device/temp_tree.h"
#include "meter/fake_source.h"
#include "meter/meter.h"

namespace perjoule {
namespace {

double load(double t) { return 200 + 150 * std::sin(t / 7) + (std::fmod(t, 20) < 10 ? 80 : 0); }

std::vector<PowerSample> sampled(double period, double scale, double shift, double lag,
                                 double noise) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal(0, noise > 0 ? noise : 1e-12);
  std::vector<PowerSample> samples;
  for (double t = 0; t < 120; t += period)
    samples.push_back({1e9 + t + lag, scale * load(t) + shift + normal(random)});
  return samples;
}

TEST(Calibration, GainOffsetAndLagAreFoundAgain) {
  // The meter shows 0.954^-1 of the sensor plus 4.6 W, and its clock is 0.8 s behind.
  const auto fit = fit_calibration("gpu:a", sampled(0.1, 1, 0, 0, 0.5),
                                   sampled(0.1, 1.048, 4.6, 0.8, 0.5), 0.005);
  ASSERT_TRUE(fit) << fit.error().text();
  EXPECT_NEAR(fit->scale, 1.048, 0.004);
  EXPECT_NEAR(fit->shift.value(), 4.6, 1.0);
  EXPECT_NEAR(fit->lag.value(), 0.8, 0.11);
  EXPECT_LT(fit->residual.value(), 3);
  const SourceInfo after = calibrated(fake_counter("gpu:a", 0.1), *fit);
  EXPECT_LT(after.gain, 0.01);
  EXPECT_GT(after.gain, 0.004);  // the meter's own accuracy stays
}

TEST(Calibration, WhatCannotBeFittedIsSaid) {
  EXPECT_FALSE(fit_calibration("gpu:a", sampled(0.1, 1, 0, 0, 0), sampled(1, 1, 0, 1e6, 0), 0.01));
  EXPECT_FALSE(fit_calibration("gpu:a", sampled(0.1, 0, 100, 0, 0), sampled(1, 1, 0, 0, 0), 0.01));
  EXPECT_FALSE(fit_calibration("gpu:a", {}, {}, 0.01));
}

TEST(Calibration, ItIsKeptAndReplaced) {
  const TempTree tree;
  const std::string path = tree / "state/calibration.json";
  EXPECT_TRUE(load_calibrations(path)->empty());
  Calibration one;
  one.source = "gpu:a";
  one.scale = 1.1;
  ASSERT_TRUE(save_calibration(path, one));
  one.scale = 1.2;
  ASSERT_TRUE(save_calibration(path, one));
  const auto kept = load_calibrations(path);
  ASSERT_EQ(kept->size(), 1U);
  EXPECT_DOUBLE_EQ(kept->front().scale, 1.2);
  ASSERT_TRUE(write_file_atomically(path, "{"));
  EXPECT_FALSE(load_calibrations(path));
}

TEST(Calibration, AWindowIsCorrectedAndItsUncertaintyNarrowed) {
  VirtualClock clock{Instant{1'000'000'000}};
  SourceInfo info = fake_counter("gpu:a", 0);
  info.gain = 0.05;
  info.offset = Watts(5);
  FakeSource gpu(info, clock, [](double) { return 300.0; });
  Calibration calibration;
  calibration.source = "gpu:a";
  calibration.scale = 1.1;
  calibration.shift = Watts(-10);
  calibration.scale_sigma = 0.002;
  Meter plain({&gpu}, clock);
  Meter corrected({&gpu}, clock, 0, {calibration});
  Window before = *plain.begin("x");
  Window after = *corrected.begin("x");
  clock.advance(Seconds(2));
  const Energy raw = before.end().total();
  const Energy better = after.end().total();
  EXPECT_NEAR(raw.joules.value(), 600, 1e-3);
  EXPECT_NEAR(better.joules.value(), 1.1 * 600 - 20, 1e-3);
  EXPECT_LT(better.expanded_uncertainty().value(), raw.expanded_uncertainty().value() / 10);
}
}  // namespace
}  // namespace perjoule
