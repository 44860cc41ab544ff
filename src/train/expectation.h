// What a recorded training takes in the mean: time to accuracy (TTA) and energy to accuracy (ETA)
// of every batch size and power limit, as points of a frontier. The ground truth that policies are
// held against.
#pragma once

#include <vector>

#include <optional>
#include <vector>
#include "base/config.h"
#include "train/job_cost.h"

#include "train/trace.h"

namespace perjoule {

/// One point a batch size and limit, in the order of the trace: settings "batch" and "power limit",
/// time the mean TTA, energy the mean ETA, both over the recorded runs (TTA = epochs x epoch time,
/// ETA = TTA x mean power). Only batch sizes of which every recorded run reaches the target within
/// the workload's most epochs: the mean of the others is not known (it is right-censored).
std::vector<Point> expected_points(const WorkloadTrace& trace);

/// Where a point stands in the trace.
struct TracePlace {
  std::size_t batch = 0;
  std::size_t limit = 0;
};

/// The cheapest expected cost, and of which pair; none when no batch size always reaches the
/// target.
struct Optimum {
  TracePlace place;
  Joules cost;
};
std::optional<Optimum> cheapest(const WorkloadTrace& trace, const JobCost& cost);
/// The expected cost of a batch size at its cheapest limit; none where it is censored.
std::optional<Joules> expected_cost(const WorkloadTrace& trace, std::size_t batch,
                                    const JobCost& cost);
/// Mean epochs to the target; none where a recorded run does not reach it.
std::optional<double> mean_epochs(const BatchRecord& batch, int most_epochs);
/// Index of the limit with the cheapest epoch; the higher limit of two alike.
std::size_t cheapest_limit(const BatchRecord& batch, const JobCost& cost);

}  // namespace perjoule
