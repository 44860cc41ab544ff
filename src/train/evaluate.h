// How good a policy is on a recorded job: many seeds, against the default and against the optimum.
#pragma once

#include "math/statistic.h"
#include "train/policies.h"

namespace perjoule {

struct EvaluationOptions {
  std::uint64_t first_seed = 1;
  int seeds = 1;
  int recurrences = 0;                         ///< 0: usual_recurrences
  std::function<void(double share)> progress;  ///< told the share that is done, if set
};

/// Energy (ETA) or time (TTA) to accuracy of recurrences, failed trainings included. One that never
/// reached the target is right-censored: it enters with what it took until it was given up, so that
/// the mean is a lower bound as soon as there is one.
struct ToAccuracy {
  Statistic mean;  ///< error over the seeds' means, or of one seed over its recurrences
  int count = 0;   ///< recurrences
  int censored = 0;
  bool lower_bound() const { return censored > 0; }
};

struct PolicyEvaluation {
  int recurrences = 0;
  ToAccuracy eta;  ///< J
  ToAccuracy tta;  ///< s
  /// The default may miss the target, so that nobody knows what it takes: no savings, nothing
  /// amortised.
  bool default_censored = false;
  Statistic last_energy_saved;  ///< of the last five recurrences, share of the default's
  Statistic last_time_saved;
  Statistic energy_saved;  ///< of all recurrences, failed trainings included
  Statistic time_saved;
  Statistic regret;  ///< (cost - recurrences x optimum) / optimum; a lower bound where eta's is one
  Statistic runs;    ///< trainings
  Statistic failed;  ///< of them, those that did not reach the target
  Statistic amortised;    ///< of the seeds that end cheaper than the default: the recurrence since
                          ///< which their cumulative cost is below it
  int cheaper_seeds = 0;  ///< that end cheaper than the default
  int picked_batch = 0;   ///< most frequent in the last ten recurrences, over all seeds
  Watts picked_limit;
  double picked_share = 0;  ///< of the last ten recurrences
};

/// The default batch size at the highest limit recorded for it, in expectation; where a recorded
/// run of it misses the target it is censored: as many epochs as the workload allows, which is no
/// mean of anything and nothing to hold savings against.
struct DefaultJob {
  Joules energy;
  Seconds time;
  bool censored = false;
  int batch_size = 0;
  Watts limit;
};
DefaultJob default_job(const WorkloadTrace& trace);
/// Whether any recorded run reaches the target within the most epochs.
bool may_reach(const WorkloadTrace& trace);

/// invalid_argument for a wrong choice; unavailable when no batch size of the trace always reaches
/// the target, so that there is no optimum to hold against.
Result<PolicyEvaluation> evaluate_policy(const WorkloadTrace& trace, const PolicyChoice& choice,
                                         const EvaluationOptions& options);

}  // namespace perjoule
