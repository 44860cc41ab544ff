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

TEST(Calibration, WhatTheMeterShowsMustRiseWithTheReading) {
  const auto course = sampled(0.1, 1, 0, 0, 0.5);
  const auto falling = fit_calibration("gpu:a", course, sampled(1, -1, 900, 0, 0.5), 0.01);
  ASSERT_FALSE(falling);
  EXPECT_NE(falling.error().message.find("does not follow"), std::string::npos);
  // A meter that always shows the same, to the digit or but for its noise.
  EXPECT_FALSE(fit_calibration("gpu:a", course, sampled(1, 0, 50, 0, 0), 0.01));
  EXPECT_FALSE(fit_calibration("gpu:a", course, sampled(1, 0, 50, 0, 0.5), 0.01));
  // One of something else.
  EXPECT_FALSE(fit_calibration("gpu:a", course, sampled(1, 0, 200, 0, 90), 0.01));
}

TEST(Calibration, AFitThatNarrowsNothingIsRefused) {
  SourceInfo info = fake_counter("gpu:a", 0.1);
  info.gain = 0.05;
  const auto good =
      fit_calibration("gpu:a", sampled(0.1, 1, 0, 0, 0), sampled(1, 1.05, 3, 0, 1), 0.01);
  ASSERT_TRUE(good) << good.error().text();
  EXPECT_TRUE(check_narrower(*good, info));
  const auto poor =
      fit_calibration("gpu:a", sampled(0.1, 1, 0, 0, 0), sampled(1, 1.05, 3, 0, 1), 0.2);
  ASSERT_TRUE(poor) << poor.error().text();
  EXPECT_FALSE(check_narrower(*poor, info));
  // A source that states no error of its own: anything that tells something.
  info.gain = 0;
  EXPECT_TRUE(check_narrower(*poor, info));
  Calibration wild = *poor;
  wild.scale_sigma = 4.3 * wild.scale;
  EXPECT_FALSE(check_narrower(wild, info));
}

TEST(Calibration, AFitThatContradictsTheStatedGainIsWarnedOfOrRefused) {
  SourceInfo info;
  info.gain = 0.05;
  Calibration fit;
  fit.source = "gpu:a";
  const auto checked = [&](double scale) {
    fit.scale = scale;
    return check_stated_gain(fit, info);
  };
  for (const double scale : {0.9, 1.0, 1.14}) {
    ASSERT_TRUE(checked(scale)) << scale;
    EXPECT_FALSE(*checked(scale)) << scale;
  }
  for (const double scale : {0.7, 1.3}) {
    ASSERT_TRUE(checked(scale)) << scale;
    EXPECT_TRUE(*checked(scale)) << scale;
  }
  EXPECT_NE(checked(0.001).error().remedy.find("in kW"), std::string::npos);
  EXPECT_NE(checked(1000).error().remedy.find("in mW"), std::string::npos);
  EXPECT_NE(checked(5).error().remedy.find("this device alone"), std::string::npos);
  info.gain = 0;  // states nothing
  EXPECT_TRUE(checked(5));
}

TEST(Calibration, AnEarlierFileOfNoSenseSaysHowToBeRidOfIt) {
  const TempTree tree;
  for (const char* text :
       {"{", "[]", R"({"calibrations": [{"source": "a", "scale": -1, "shift_w": 200}]})"}) {
    const std::string path = tree / "calibration.json";
    ASSERT_TRUE(write_file_atomically(path, text));
    const auto kept = load_calibrations(path);
    ASSERT_FALSE(kept) << text;
    EXPECT_NE(kept.error().message.find(path), std::string::npos);
    EXPECT_NE(kept.error().remedy.find("delete the file"), std::string::npos);
  }
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
