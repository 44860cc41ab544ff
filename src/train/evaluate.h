// How good a policy is on a recorded job: many seeds, against the default and against the optimum.
#pragma once

#include "math/statistic.h"
#include "train/policies.h"

namespace perjoule {

struct EvaluationOptions {
  std::uint64_t first_seed = 1;
  int seeds = 1;
  int recurrences = 0;  ///< 0: usual_recurrences
};

struct PolicyEvaluation {
  int recurrences = 0;
  Statistic last_energy_saved;  ///< of the last five recurrences, share of the default's
  Statistic last_time_saved;
  Statistic energy_saved;  ///< of all recurrences, failed trainings included
  Statistic time_saved;
  Statistic regret;       ///< (cost - recurrences x optimum) / optimum
  Statistic runs;         ///< trainings
  Statistic failed;       ///< of them, those that did not reach the target
  Statistic amortised;    ///< of the seeds that end cheaper than the default: the recurrence since
                          ///< which their cumulative cost is below it
  int cheaper_seeds = 0;  ///< that end cheaper than the default
  int picked_batch = 0;   ///< most frequent in the last ten recurrences, over all seeds
  Watts picked_limit;
  double picked_share = 0;  ///< of the last ten recurrences
};

/// Energy and time of the default batch size at the highest limit, in expectation; where a recorded
/// run of it misses the target, as many epochs as the workload allows (a lower bound).
struct DefaultJob {
  Joules energy;
  Seconds time;
  bool censored = false;
};
DefaultJob default_job(const WorkloadTrace& trace);

/// invalid_argument for a wrong choice; unavailable when no batch size of the trace always reaches
/// the target, so that there is no optimum to hold against.
Result<PolicyEvaluation> evaluate_policy(const WorkloadTrace& trace, const PolicyChoice& choice,
                                         const EvaluationOptions& options);

}  // namespace perjoule
