#include "train/epoch_model.h"

#include <gtest/gtest.h>

#include <cmath>

namespace perjoule {
namespace {

EpochRecord record(double batch_size, const std::vector<double>& epochs) {
  EpochRecord made;
  made.batch_size = batch_size;
  for (const double each : epochs) made.add(each);
  return made;
}

/// Mean and standard deviation of the logs of many draws at one record.
std::pair<double, double> drawn(const EpochModel& model, std::size_t record) {
  constexpr int kDraws = 4000;
  Random random(2);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double log = std::log(model.draw(random)[record]);
    sum += log / kDraws;
    squares += log * log / kDraws;
  }
  return {sum, std::sqrt(squares - sum * sum)};
}

TEST(EpochModel, ManyTrainingsOfASizeSayWhatItTakes) {
  const EpochModel model({record(32, std::vector<double>(50, 10.0)), record(64, {})});
  EXPECT_NEAR(std::exp(model.predict(0).log_mean), 10, 0.1);
  EXPECT_LT(model.predict(0).log_deviation, 0.02);
  EXPECT_GT(model.predict(1).log_deviation, 0.1);
}

TEST(EpochModel, AnUntriedSizeTakesBetweenAsManyAndInProportion) {
  const EpochModel model({record(32, {}), record(64, {10, 11, 9}), record(128, {})});
  const double smaller = std::exp(model.predict(0).log_mean);
  const double larger = std::exp(model.predict(2).log_mean);
  EXPECT_TRUE(smaller > 5 && smaller < 10.1) << smaller;
  EXPECT_TRUE(larger > 9.9 && larger < 20) << larger;
}

TEST(EpochModel, ACurveThatDoublesGoesOnDoublingAndAFlatOneStaysFlat) {
  const EpochModel steep(
      {record(256, {10, 10}), record(512, {20, 20}), record(1024, {40, 40}), record(2048, {})});
  EXPECT_NEAR(std::exp(steep.predict(3).log_mean), 75, 10);
  const EpochModel flat(
      {record(256, {4, 4}), record(512, {4, 4}), record(1024, {4, 4}), record(2048, {})});
  EXPECT_NEAR(std::exp(flat.predict(3).log_mean), 4.3, 0.5);
}

TEST(EpochModel, ALongHistoryIsDrawnAsAShortOneIs) {
  // Around the degrees of freedom at which the chi-square is drawn in another way.
  for (const int count : {55, 75, 100000}) {
    std::vector<double> epochs;
    for (int i = 0; i < count; ++i) epochs.push_back(i % 2 == 0 ? 9 : 11);
    const EpochModel model({record(32, epochs), record(64, {})});
    const auto [mean, deviation] = drawn(model, 0);
    EXPECT_NEAR(mean, std::log(std::sqrt(99.0)), 0.01) << count;
    EXPECT_NEAR(deviation * std::sqrt(count), 0.1, 0.02) << count;
  }
}

TEST(EpochModel, DrawsFollowThePrediction) {
  const EpochModel model({record(32, {12, 9, 10}), record(64, {11}), record(128, {})});
  for (std::size_t i = 0; i < 3; ++i) {
    const auto [mean, deviation] = drawn(model, i);
    EXPECT_NEAR(mean, model.predict(i).log_mean, 0.03) << i;
    EXPECT_NEAR(deviation / model.predict(i).log_deviation, 1, 0.3) << i;
  }
}

}  // namespace
}  // namespace perjoule
