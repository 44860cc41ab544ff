// Recurring jobs of a whole cluster: groups of jobs that do the same, each with its start, its end
// and how long it ran against the mean of its data set. Jobs of a group overlap.
//
//   PJ_TRY(const std::vector<JobGroup> groups, parse_job_groups(text, "groups.csv"));
//   PJ_TRY(const auto totals, simulate_groups(groups, tables, ...));
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "train/policies.h"
#include "train/simulate.h"

namespace perjoule {

struct GroupedJob {
  double start_s = 0;
  double end_s = 0;
  double runtime_ratio = 1;  ///< its run time over the mean of its data set
};

struct JobGroup {
  std::string name;
  std::string dataset;
  std::vector<GroupedJob> jobs;  ///< by start
};

/// Reads the columns group, start_time, end_time, dataset, runtime_ratio, as in Zeus's grouping of
/// the Alibaba GPU cluster trace. Groups in the order of the table. Errors name table and line.
Result<std::vector<JobGroup>> parse_job_groups(std::string_view text, const std::string& name);

/// What the jobs of one data set took, under a policy and under the default.
struct GroupTotals {
  int jobs = 0;
  int runs = 0;
  int unreached = 0;  ///< jobs that never reached the target: what they took is a lower bound
  /// The default may miss the target: its energy and time are no baseline.
  bool default_censored = false;
  Joules energy;
  Seconds time;
  Joules default_energy;
  Seconds default_time;
  std::vector<double> job_energy;  ///< J, of every job with its failed trainings: ETA
  std::vector<double> job_time;    ///< s: TTA

  GroupTotals& operator+=(const GroupTotals& other);
};

/// Simulates every group with a policy of its own; a training that is submitted while others of its
/// group run sees what had been reported by then. A job that misses the target is tried again at
/// its end, for as long again. Energy and time of a job are multiplied by its run time ratio. By
/// data set; the same for the same seed, whatever the threads. not_found when a data set has no
/// workload in the trace, unavailable when none of its recorded trainings reaches the target.
Result<std::map<std::string, GroupTotals>> simulate_groups(
    const std::vector<JobGroup>& groups, const std::vector<WorkloadTrace>& traces,
    const PolicyChoice& choice, std::uint64_t seed,
    const std::function<void(std::size_t done)>& progress = {});

}  // namespace perjoule
