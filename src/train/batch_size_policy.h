// How the batch size of a recurring job is chosen: ask before a training starts, report when it has
// ended, and be asked after the first epoch how long it may go on.
//
//   const int batch_size = policy.next(random, running);
//   ... the first epoch shows what an epoch costs ...
//   if (epochs >= policy.most_epochs(batch_size, epoch_cost)) stop;
//   policy.report({batch_size, reached, epochs, epoch_cost, cost});
//
// A policy knows costs (JobCost) and epochs only. Power limits are chosen apart from it, by a
// LimitProfile for each batch size: the cost of an epoch depends on the limit and the number of
// epochs does not, so that the cheapest limit of a batch size is the one of its cheapest epoch
// (You et al., NSDI 2023, section 4.1).
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "math/random.h"
#include "train/job_cost.h"

namespace perjoule {

/// More epochs than any training has.
constexpr int kAnyEpochs = std::numeric_limits<int>::max();

/// One training that ended.
struct TrialResult {
  int batch_size = 0;
  bool reached = false;  ///< the target; false: stopped, or given up
  int epochs = 0;
  Joules epoch_cost;  ///< of an epoch at the limit it ran with, profiling left out
  Joules cost;        ///< of all of it
};

class BatchSizePolicy {
 public:
  virtual ~BatchSizePolicy() = default;
  virtual std::string_view name() const = 0;

  /// The batch size to train with next. `running`: those of this job's trainings that have not been
  /// reported yet.
  virtual int next(Random& random, const std::vector<int>& running) = 0;
  /// Epochs that a training may take whose epochs cost so much; kAnyEpochs for no bound.
  virtual int most_epochs(int batch_size, Joules epoch_cost) const = 0;
  /// A training ended. `job_cost` is that of the whole recurrence so far, with the failed
  /// trainings before it.
  virtual void report(const TrialResult& result, Joules job_cost) = 0;
  /// Nothing came of it that has a cost: it could not start (most_epochs was 0), it diverged, or
  /// its trainer fell silent again and again. Speaks against the batch size, however little was
  /// spent.
  virtual void report_failure(int batch_size) = 0;
};

/// Trainings in a row that may be stopped, of batch sizes that did reach the target before, until
/// the data are taken to have changed: the bound then comes from trainings that no longer happen.
/// The next one is let run, and what it takes is what counts from then on.
constexpr int kStopsOfDrift = 3;

/// What Gaussian Thompson sampling (policy zeus) is told beforehand of the costs of trainings.
struct CostPrior {
  std::optional<Joules> noise;      ///< known standard deviation of a cost; none: learned
  Joules mean;                      ///< expected cost of any batch size ...
  std::optional<Joules> deviation;  ///< ... give or take so much; none: nothing is known
};

/// What every policy is made from.
struct JobSpec {
  std::vector<int> batch_sizes;  ///< ascending
  int default_batch = 0;         ///< one of them
  double beta = 2;  ///< a training is stopped at beta times the lowest cost; infinite: never
  /// Remember so many results of a batch size, failures too, and no older ones than the last
  /// window x batch sizes of all; 0: all.
  int window = 0;
  CostPrior prior = {};
};
/// invalid_argument for no or unsorted batch sizes, one that stands twice, a default that is not
/// among them, beta below 1, a window below 0, or a deviation that is not above 0.
Outcome check(const JobSpec& spec);

}  // namespace perjoule
