// What optimisers are held against: one batch size for ever, and trying everything.
#pragma once

#include <map>

#include "train/batch_size_policy.h"

namespace perjoule {

/// The same batch size every time, never stopped: what an untuned job does, or, with the best batch
/// size, what an oracle would do.
class FixedPolicy final : public BatchSizePolicy {
 public:
  FixedPolicy(std::string name, int batch_size) : name_(std::move(name)), batch_size_(batch_size) {}

  std::string_view name() const override { return name_; }
  int next(Random& /*random*/, const std::vector<int>& /*running*/) override { return batch_size_; }
  int most_epochs(int /*batch_size*/, Joules /*epoch_cost*/) const override { return kAnyEpochs; }
  void report(const TrialResult& /*result*/, Joules /*job_cost*/) override {}
  void report_failure(int /*batch_size*/) override {}

 private:
  std::string name_;
  int batch_size_;
};

/// Grid search: one training of every batch size under every power limit, from the default batch
/// size down and then up (a size that misses the target ends its direction), limits from the
/// highest down, never stopped early; then the batch size of the cheapest training.
class GridPolicy final : public BatchSizePolicy {
 public:
  /// limits[i]: how many limits the i-th batch size has.
  static Result<std::unique_ptr<BatchSizePolicy>> make(const JobSpec& spec,
                                                       std::vector<int> limits);

  std::string_view name() const override { return "grid"; }
  int next(Random& random, const std::vector<int>& running) override;
  int most_epochs(int /*batch_size*/, Joules /*epoch_cost*/) const override { return kAnyEpochs; }
  void report(const TrialResult& result, Joules job_cost) override;
  void report_failure(int /*batch_size*/) override {}

 private:
  GridPolicy(JobSpec spec, std::vector<int> limits);
  void turn_or_end();

  JobSpec spec_;
  std::vector<int> limits_;
  std::size_t start_;
  std::size_t position_;
  int tried_limits_ = 0;  ///< of the size at position_
  bool up_ = false;
  bool done_ = false;
  int best_;
  double least_ = std::numeric_limits<double>::infinity();
};

}  // namespace perjoule
