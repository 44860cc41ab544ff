#include "train/epoch_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace perjoule {
namespace {

// Prior of the noise: 10 %, worth four trainings.
constexpr double kPriorNoise = 0.10;
constexpr double kPriorWeight = 4;
// What a batch size deviates from the curve, and how much more for every octave from a tried one.
constexpr double kDeviation = 0.08;
constexpr double kDeviationPerOctave = 0.05;
// The grid of B, and how far it reaches beyond the smallest and the largest batch size.
constexpr std::size_t kLevels = 32;
constexpr double kBelow = 8;
constexpr double kAbove = 64;

// A chi-square draw. Many degrees of freedom by Wilson and Hilferty (1931), whose error is then
// below a thousandth, so that a long history costs no more than a short one.
double chi_square(double freedom, Random& random) {
  constexpr double kMany = 64;
  if (freedom > kMany) {
    const double spread = 2 / (9 * freedom);
    return freedom * std::pow(1 - spread + std::sqrt(spread) * random.normal(), 3);
  }
  double sum = 0;
  for (int i = 0; i < static_cast<int>(freedom); ++i) {
    const double z = random.normal();
    sum += z * z;
  }
  return sum;
}

}  // namespace

void EpochRecord::add(double epochs) {
  ++count;
  const double before = std::log(epochs) - log_mean;
  log_mean += before / count;
  squares += before * (std::log(epochs) - log_mean);
}

EpochModel::EpochModel(const std::vector<EpochRecord>& records)
    : squares_(kPriorWeight * kPriorNoise * kPriorNoise), freedom_(kPriorWeight) {
  const double first = std::log(records.front().batch_size / kBelow);
  const double last = std::log(records.back().batch_size * kAbove);
  for (const EpochRecord& record : records) {
    Arm arm;
    arm.log_size = std::log(record.batch_size);
    for (std::size_t i = 0; i < kLevels; ++i) {
      const double share = static_cast<double>(i) / (kLevels - 1);
      arm.growth.push_back(std::log1p(std::exp(arm.log_size - (first + (last - first) * share))));
    }
    arm.count = record.count;
    arm.mean = record.log_mean;
    squares_ += record.squares;
    if (arm.count > 1) freedom_ += arm.count - 1;
    arms_.push_back(std::move(arm));
  }
  for (Arm& arm : arms_) {
    arm.octaves = std::numeric_limits<double>::infinity();
    for (const Arm& other : arms_) {
      if (other.count > 0)
        arm.octaves = std::min(arm.octaves, std::abs(arm.log_size - other.log_size) / std::log(2));
    }
  }
}

std::vector<EpochModel::Level> EpochModel::levels(double noise_variance) const {
  std::vector<Level> levels(kLevels);
  double most = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < kLevels; ++i) {
    double weights = 0;
    double sum = 0;
    double squares = 0;
    for (const Arm& arm : arms_) {
      if (arm.count == 0) continue;
      const double weight = 1 / (kDeviation * kDeviation + noise_variance / arm.count);
      const double rest = arm.mean - arm.growth[i];
      weights += weight;
      sum += weight * rest;
      squares += weight * rest * rest;
    }
    levels[i] = {sum / weights, 1 / weights, -0.5 * (squares - sum * sum / weights)};
    most = std::max(most, levels[i].weight);
  }
  for (Level& level : levels) level.weight = std::exp(level.weight - most);
  return levels;
}

EpochModel::Given EpochModel::given(const Arm& arm, std::size_t level, double mu,
                                    double noise_variance) {
  const double deviation = kDeviation + kDeviationPerOctave * arm.octaves;
  const double prior = 1 / (deviation * deviation);
  const double total = prior + arm.count / noise_variance;
  const double share = prior / total;
  return {share * (mu + arm.growth[level]) + (1 - share) * arm.mean, 1 / total, share};
}

std::vector<double> EpochModel::draw(Random& random) const {
  // Scaled inverse chi-square: heavy tails while little is known.
  const double variance = squares_ / std::max(chi_square(freedom_, random), 0.5);
  const std::vector<Level> all = levels(variance);
  double total = 0;
  for (const Level& level : all) total += level.weight;
  double left = random.uniform() * total;
  std::size_t chosen = 0;
  while (chosen + 1 < all.size() && left >= all[chosen].weight) left -= all[chosen++].weight;
  const double mu = all[chosen].mean + std::sqrt(all[chosen].variance) * random.normal();
  std::vector<double> epochs;
  for (const Arm& arm : arms_) {
    const Given known = given(arm, chosen, mu, variance);
    epochs.push_back(std::exp(known.mean + std::sqrt(known.variance) * random.normal()));
  }
  return epochs;
}

EpochModel::Prediction EpochModel::predict(std::size_t record) const {
  const double variance = squares_ / freedom_;
  double total = 0;
  double first = 0;
  double second = 0;
  for (std::size_t i = 0; const Level& level : levels(variance)) {
    const Given known = given(arms_[record], i++, level.mean, variance);
    total += level.weight;
    first += level.weight * known.mean;
    second += level.weight * (known.mean * known.mean + known.variance +
                              known.curve_share * known.curve_share * level.variance);
  }
  const double mean = first / total;
  const double deviation = std::max(0.0, second / total - mean * mean);
  return {mean, std::sqrt(deviation), std::sqrt(deviation + variance)};
}

}  // namespace perjoule
