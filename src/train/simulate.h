// A recurring job, trained again and again from a recorded trace under a policy.
//
// A training draws one recorded run of its batch size; every epoch costs what the trace says under
// its power limit. Limits not measured yet are measured in the first epoch, which then costs the
// mean over them. A recurrence goes on with new trainings until one reaches the target (at most
// 20), and what the failed ones took counts. The rules are those of Zeus's simulator, so that the
// figures compare.
#pragma once

#include <functional>
#include <vector>

#include "train/batch_size_policy.h"
#include "train/expectation.h"
#include "train/limit_profile.h"

namespace perjoule {

/// How the power limit of a batch size is found.
enum class LimitSearch {
  kAll,       ///< all limits in the first epoch of a batch size
  kAround,    ///< LimitProfile::around, from the limit of the batch size tried before
  kHighest,   ///< always the highest
  kOneByOne,  ///< each training under the next limit, from the highest; then the cheapest
  kKnown,     ///< the cheapest, known beforehand
};

/// One training, as simulated.
struct SimulatedRun {
  int recurrence = 0;  ///< 0-based
  int batch_size = 0;
  Watts limit;  ///< after measuring
  Joules energy;
  Seconds time;
  Joules cost;
  bool reached = false;
};

/// One job as it recurs: what was learned of its power limits, and how a training goes. The two
/// simulators (one job; groups of overlapping jobs) share it.
class JobSimulator {
 public:
  JobSimulator(const WorkloadTrace& trace, const JobCost& cost, BatchSizePolicy& policy,
               LimitSearch search);

  /// One training of that batch size, drawn from the trace; none when the policy lets it run for no
  /// epoch at all (it has been told). The policy is not told of the result: a training that
  /// overlaps others reports when it ends.
  struct Trained {
    SimulatedRun run;
    TrialResult result;
  };
  std::optional<Trained> train(int batch_size, Random& random);

 private:
  /// Of one batch size: measures what is to be measured and answers the mean of those epochs.
  struct FirstEpoch {
    Joules energy;
    Seconds time;
  };
  std::optional<FirstEpoch> measure(std::size_t batch);
  std::size_t choose_limit(std::size_t batch);

  const WorkloadTrace& trace_;
  JobCost cost_;
  BatchSizePolicy& policy_;
  LimitSearch search_;
  std::vector<LimitProfile> profiles_;  ///< by batch size
  std::optional<Watts> last_limit_;
};

struct JobSimulation {
  std::vector<SimulatedRun> runs;
  std::vector<Joules> recurrence_costs;
  int never_started = 0;
};

/// That many recurrences, one after another; `progress` is told how many are done.
JobSimulation simulate_job(const WorkloadTrace& trace, const JobCost& cost, BatchSizePolicy& policy,
                           LimitSearch search, int recurrences, const Random& random,
                           const std::function<void(int done)>& progress = {});

/// Twice the number of batch sizes times the number of limits: as many as Zeus's evaluation has.
int usual_recurrences(const WorkloadTrace& trace);

/// The spec of a traced job: every recorded batch size.
JobSpec spec_of(const WorkloadTrace& trace, double beta);

}  // namespace perjoule
