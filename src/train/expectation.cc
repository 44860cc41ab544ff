#include "train/expectation.h"

#include <fmt/format.h>

#include <cmath>

namespace perjoule {
namespace {

/// Standard error of the mean number of epochs, over that mean; 0 for a single run, of which
/// nothing is known.
double relative_error(const BatchRecord& batch, double mean) {
  const auto runs = static_cast<double>(batch.epochs.size());
  if (runs < 2) return 0;
  double squares = 0;
  for (const std::optional<int>& epochs : batch.epochs)
    squares += (*epochs - mean) * (*epochs - mean);
  return std::sqrt(squares / (runs - 1) / runs) / mean;
}

}  // namespace

std::optional<double> mean_epochs(const BatchRecord& batch, int most_epochs) {
  double sum = 0;
  for (const std::optional<int>& epochs : batch.epochs) {
    if (!epochs || *epochs > most_epochs) return std::nullopt;
    sum += *epochs;
  }
  return sum / static_cast<double>(batch.epochs.size());
}

std::size_t cheapest_limit(const BatchRecord& batch, const JobCost& cost) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < batch.limits.size(); ++i) {
    if (cost.of_epoch(batch.limits[i]) < cost.of_epoch(batch.limits[best])) best = i;
  }
  return best;
}

std::vector<Point> expected_points(const WorkloadTrace& trace) {
  std::vector<Point> points;
  for (const BatchRecord& batch : trace.batches) {
    const auto epochs = mean_epochs(batch, trace.workload.most_epochs);
    if (!epochs) continue;
    for (const LimitRecord& record : batch.limits) {
      Point point;
      point.config.set("batch", std::to_string(batch.batch_size));
      point.config.set("power limit", fmt::format("{:g} W", record.limit.value()));
      point.time = record.epoch_time * *epochs;
      point.energy.joules = record.power * point.time;
      point.energy.random = point.energy.joules * relative_error(batch, *epochs);
      point.energy.status = Status::kReconstructed;
      point.energy.source = "trace";
      points.push_back(std::move(point));
    }
  }
  return points;
}

std::optional<Joules> expected_cost(const WorkloadTrace& trace, std::size_t batch,
                                    const JobCost& cost) {
  const BatchRecord& record = trace.batches[batch];
  const auto epochs = mean_epochs(record, trace.workload.most_epochs);
  if (!epochs) return std::nullopt;
  return cost.of_epoch(record.limits[cheapest_limit(record, cost)]) * *epochs;
}

std::optional<Optimum> cheapest(const WorkloadTrace& trace, const JobCost& cost) {
  std::optional<Optimum> best;
  for (std::size_t i = 0; i < trace.batches.size(); ++i) {
    const auto expected = expected_cost(trace, i, cost);
    if (expected && (!best || *expected < best->cost))
      best = Optimum{{i, cheapest_limit(trace.batches[i], cost)}, *expected};
  }
  return best;
}

}  // namespace perjoule
