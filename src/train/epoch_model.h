// How many epochs a training needs at every batch size, as far as the trainings so far tell.
//
// Model: log e = mu + log(1 + b / B) + d_b + noise. mu is the epochs a small batch needs, B the
// critical batch size beyond which a larger batch no longer pays (McCandlish et al. 2018, "An
// Empirical Model of Large-Batch Training"), d_b what one batch size deviates from that (normal),
// and the noise of single trainings has the same spread at every batch size. B has a flat prior in
// log over a grid, mu a flat one; the variance of the noise is pooled over all batch sizes, with a
// prior. A draw of all of it is one Thompson sample.
#pragma once

#include <vector>

#include "math/random.h"

namespace perjoule {

/// The trainings of one batch size that reached the target: all that the model asks of them, kept
/// up with each (Welford 1962), so that a long history costs nothing.
struct EpochRecord {
  double batch_size = 0;
  double count = 0;
  double log_mean = 0;  ///< of the epochs
  double squares = 0;   ///< of the logarithms' deviations from it, summed
  void add(double epochs);
};

class EpochModel {
 public:
  /// Records in ascending order of batch size, at least one with a training. O(records).
  explicit EpochModel(const std::vector<EpochRecord>& records);

  /// One draw of the epochs needed at every record's batch size, from their posterior. O(records).
  std::vector<double> draw(Random& random) const;
  /// Posterior mean and standard deviation of the log epochs at one record's batch size.
  struct Prediction {
    double log_mean = 0;
    double log_deviation = 0;
    double log_spread = 0;  ///< of a single training: the deviation and the noise
  };
  Prediction predict(std::size_t record) const;

 private:
  struct Arm {
    double log_size = 0;         ///< natural logarithm
    double mean = 0;             ///< of the logarithms of the epochs
    double count = 0;            ///< of trainings
    double octaves = 0;          ///< to the nearest batch size with a training
    std::vector<double> growth;  ///< log(1 + b / B) at each level
  };
  /// Posterior given one B.
  struct Level {
    double mean = 0;      ///< of mu
    double variance = 0;  ///< of mu
    double weight = 0;    ///< of this B, not normalised
  };
  std::vector<Level> levels(double noise_variance) const;
  /// One arm's log epochs, given B and mu.
  struct Given {
    double mean = 0;
    double variance = 0;
    double curve_share = 0;  ///< of the curve in the mean; the rest is the arm's own trainings
  };
  static Given given(const Arm& arm, std::size_t level, double mu, double noise_variance);

  std::vector<Arm> arms_;
  double squares_ = 0;  ///< within arms, with the prior's
  double freedom_ = 0;
};

}  // namespace perjoule
