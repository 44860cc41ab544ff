#include "train/simulate.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace perjoule {
namespace {

constexpr int kMostTries = 20;

/// The recorded limit nearest to one asked for.
std::size_t nearest_limit(const BatchRecord& batch, Watts limit) {
  std::size_t nearest = 0;
  for (std::size_t i = 1; i < batch.limits.size(); ++i) {
    if (abs(batch.limits[i].limit - limit) < abs(batch.limits[nearest].limit - limit)) nearest = i;
  }
  return nearest;
}

}  // namespace

JobSimulator::JobSimulator(const WorkloadTrace& trace, const JobCost& cost, BatchSizePolicy& policy,
                           LimitSearch search)
    : trace_(trace), cost_(cost), policy_(policy), search_(search) {
  for (const BatchRecord& batch : trace.batches) profiles_.emplace_back(batch.limits.size());
}

std::optional<JobSimulator::FirstEpoch> JobSimulator::measure(std::size_t batch) {
  const BatchRecord& record = trace_.batches[batch];
  LimitProfile& profile = profiles_[batch];
  std::vector<std::size_t> limits;
  if (search_ == LimitSearch::kAll || (search_ == LimitSearch::kAround && !last_limit_))
    limits = profile.all();
  if (search_ == LimitSearch::kAround && last_limit_)
    limits = profile.around(nearest_limit(record, *last_limit_));
  if (limits.empty()) return std::nullopt;
  FirstEpoch mean;
  for (const std::size_t i : limits) {
    profile.record(i, cost_.of_epoch(record.limits[i]));
    mean.energy += record.limits[i].epoch_energy() / static_cast<double>(limits.size());
    mean.time += record.limits[i].epoch_time / static_cast<double>(limits.size());
  }
  return mean;
}

// The limit of all epochs that measure nothing.
std::size_t JobSimulator::choose_limit(std::size_t batch) {
  const BatchRecord& record = trace_.batches[batch];
  LimitProfile& profile = profiles_[batch];
  if (search_ == LimitSearch::kHighest) return 0;
  if (search_ == LimitSearch::kKnown) return cheapest_limit(record, cost_);
  if (search_ == LimitSearch::kOneByOne && !profile.all().empty()) {
    const std::size_t next = profile.all().front();
    profile.record(next, cost_.of_epoch(record.limits[next]));
    return next;
  }
  return profile.best();
}

std::optional<JobSimulator::Trained> JobSimulator::train(int batch_size, Random& random) {
  const std::size_t batch = *trace_.index_of(batch_size);
  const BatchRecord& record = trace_.batches[batch];
  const std::optional<int>& needed = random.pick(record.epochs);
  const std::optional<FirstEpoch> measured = measure(batch);
  const LimitRecord& limit = record.limits[choose_limit(batch)];
  last_limit_ = limit.limit;
  const Joules epoch_cost = cost_.of_epoch(limit);
  const int allowed =
      std::min(trace_.workload.most_epochs, policy_.most_epochs(batch_size, epoch_cost));
  if (allowed <= 0) {
    policy_.report_failure(batch_size);
    return std::nullopt;
  }
  Trained trained;
  SimulatedRun& run = trained.run;
  run.reached = needed && *needed <= allowed;
  const int epochs = run.reached ? *needed : allowed;
  const int plain = measured ? epochs - 1 : epochs;
  run.batch_size = batch_size;
  run.limit = limit.limit;
  run.energy = limit.epoch_energy() * plain + (measured ? measured->energy : Joules(0));
  run.time = limit.epoch_time * plain + (measured ? measured->time : Seconds(0));
  run.cost = cost_.of(run.energy, run.time);
  trained.result = {batch_size, run.reached, epochs, epoch_cost, run.cost};
  return trained;
}

JobSimulation simulate_job(const WorkloadTrace& trace, const JobCost& cost, BatchSizePolicy& policy,
                           LimitSearch search, int recurrences, const Random& random,
                           const std::function<void(int done)>& progress) {
  JobSimulation simulation;
  JobSimulator job(trace, cost, policy, search);
  // Two streams, so that two policies meet the same luck of training for the same choices.
  Random paths = random.child(0);
  Random decisions = random.child(1);
  for (int recurrence = 0; recurrence < recurrences; ++recurrence) {
    Joules spent;
    for (int tries = 0; tries < kMostTries; ++tries) {
      auto trained = job.train(policy.next(decisions, {}), paths);
      if (!trained) {
        ++simulation.never_started;
        continue;
      }
      trained->run.recurrence = recurrence;
      spent += trained->run.cost;
      simulation.runs.push_back(trained->run);
      policy.report(trained->result, spent);
      if (trained->run.reached) break;
    }
    simulation.recurrence_costs.push_back(spent);
    if (progress) progress(recurrence + 1);
  }
  return simulation;
}

int usual_recurrences(const WorkloadTrace& trace) {
  std::set<double> limits;
  for (const BatchRecord& batch : trace.batches) {
    for (const LimitRecord& record : batch.limits) limits.insert(record.limit.value());
  }
  return 2 * static_cast<int>(trace.batches.size() * limits.size());
}

JobSpec spec_of(const WorkloadTrace& trace, double beta) {
  JobSpec spec;
  for (const BatchRecord& batch : trace.batches) spec.batch_sizes.push_back(batch.batch_size);
  spec.default_batch = trace.workload.default_batch;
  spec.beta = beta;
  return spec;
}

}  // namespace perjoule
