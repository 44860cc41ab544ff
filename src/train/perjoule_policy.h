// Our batch-size optimiser: a downhill walk in log batch size with futility stops, then Thompson
// sampling between the two sizes that bracket the minimum. docs/train.md has the formulas.
//
// What it knows that a bandit with independent arms does not:
// - cost = epochs x cost of an epoch. The second is known after one epoch; only epochs are noisy,
//   and their relative spread is about the same at every batch size, so one pooled variance serves
//   all arms from the first repeat on.
// - Epochs to a target do not fall as the batch grows, and at most double when it doubles (the
//   critical batch size: McCandlish et al. 2018), so that one epoch at a new size bounds its cost
//   from below.
// - Cost over log batch size has one valley: beyond a size that is dearer than its neighbour
//   nothing is tried.
// - Results grow old: with a window old ones are forgotten, and once sizes that did reach the
// target
//   are stopped again and again (kStopsOfDrift) one training is let run and all before it
//   forgotten.
#pragma once

#include <deque>
#include <optional>

#include "train/batch_size_policy.h"
#include "train/epoch_model.h"

namespace perjoule {

class PerjoulePolicy final : public BatchSizePolicy {
 public:
  static Result<std::unique_ptr<BatchSizePolicy>> make(const JobSpec& spec);

  std::string_view name() const override { return "perjoule"; }
  int next(Random& random, const std::vector<int>& running) override;
  int most_epochs(int batch_size, Joules epoch_cost) const override;
  void report(const TrialResult& result, Joules job_cost) override;
  void report_failure(int batch_size) override;

 private:
  struct Training {
    double epochs = 0;    ///< to the target; 0: missed it
    bool futile = false;  ///< stopped after its first epoch, because more was not worth it
    std::int64_t number = 0;
  };
  /// What is known of one batch size.
  struct Arm {
    EpochRecord record;         ///< of trainings that reached the target
    double epochs = 0;          ///< of those, summed
    double epoch_cost = 0;      ///< at its cheapest limit, as of the last training; 0: not known
    int failures = 0;           ///< trainings that were stopped or missed the target
    bool futile = false;        ///< the last failure was futile
    int setbacks = 0;           ///< failures without a cost since it last reached the target
    std::deque<Training> kept;  ///< what the above was counted from; only with a window
    bool reached() const { return record.count > 0; }
    bool tried() const { return reached() || failures > 0; }
    /// Nothing beyond it, as seen from the best size, is better.
    bool closed() const { return reached() || (failures > 0 && !futile); }
    double cost() const { return epochs / record.count * epoch_cost; }
    void count_in(const Training& result);
    void forget();
    void recount();
  };
  explicit PerjoulePolicy(JobSpec spec);

  std::optional<std::size_t> best() const;
  std::optional<std::size_t> step_from(std::size_t best, bool up) const;
  std::size_t first_that_may_reach() const;
  std::size_t sample(Random& random) const;
  std::vector<EpochRecord> records() const;
  double epoch_cost_at(std::size_t index, Random& random) const;
  std::size_t index_of(int batch_size) const;
  double log_size(std::size_t index) const;
  void add(Arm& arm, Training result);
  void forget_old();

  JobSpec spec_;
  std::vector<Arm> arms_;
  std::int64_t results_ = 0;
  int stops_ = 0;  ///< trainings in a row, of sizes that had reached the target, that missed it
};

}  // namespace perjoule
