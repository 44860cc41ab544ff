#include "train/evaluate.h"

#include <algorithm>
#include <map>

namespace perjoule {
namespace {

constexpr int kLast = 5;
constexpr int kPicks = 10;

/// What every seed adds to.
struct Collected {
  std::vector<double> last_energy, last_time, energy, time, regret, runs, failed, amortised;
  std::vector<double> mean_eta, mean_tta;  // of each seed
  Statistic one_eta, one_tta;              // of the last seed, over its recurrences
  int censored = 0;
  std::map<std::pair<int, double>, int> picks;
  int cheaper = 0;
};

/// The recurrence (1-based) since which the cumulative cost lies below the default's; 0: it does
/// not at the end.
int amortised_at(const std::vector<Joules>& costs, Joules usual) {
  Joules sum;
  int since = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    sum += costs[i];
    const bool below = sum < usual * static_cast<double>(i + 1);
    if (!below) since = 0;
    if (below && since == 0) since = static_cast<int>(i + 1);
  }
  return since;
}

void collect_to_accuracy(const JobSimulation& job, int recurrences, Collected& all) {
  const auto count = static_cast<std::size_t>(recurrences);
  std::vector<double> energy(count);
  std::vector<double> time(count);
  std::vector<bool> reached(count);
  for (const SimulatedRun& run : job.runs) {
    const auto i = static_cast<std::size_t>(run.recurrence);
    energy[i] += run.energy.value();
    time[i] += run.time.value();
    if (run.reached) reached[i] = true;
  }
  all.one_eta = statistic(energy);
  all.one_tta = statistic(time);
  all.mean_eta.push_back(all.one_eta.mean);
  all.mean_tta.push_back(all.one_tta.mean);
  all.censored += static_cast<int>(std::count(reached.begin(), reached.end(), false));
}

void collect(const JobSimulation& job, int recurrences, const DefaultJob& usual, Joules usual_cost,
             Joules optimum, Collected& all) {
  Joules energy, last_energy, cost;
  Seconds time, last_time;
  int failed = 0;
  for (const SimulatedRun& run : job.runs) {
    energy += run.energy;
    time += run.time;
    failed += run.reached ? 0 : 1;
    if (run.recurrence >= recurrences - kLast) {
      last_energy += run.energy;
      last_time += run.time;
    }
    if (run.recurrence >= recurrences - kPicks) ++all.picks[{run.batch_size, run.limit.value()}];
  }
  for (const Joules each : job.recurrence_costs) cost += each;
  collect_to_accuracy(job, recurrences, all);
  const int last = std::min(kLast, recurrences);
  all.last_energy.push_back(1 - last_energy / (usual.energy * last));
  all.last_time.push_back(1 - last_time / (usual.time * last));
  all.energy.push_back(1 - energy / (usual.energy * recurrences));
  all.time.push_back(1 - time / (usual.time * recurrences));
  all.regret.push_back(cost / optimum - recurrences);
  all.runs.push_back(static_cast<double>(job.runs.size()));
  all.failed.push_back(failed);
  if (const int since = amortised_at(job.recurrence_costs, usual_cost); since > 0) {
    ++all.cheaper;
    all.amortised.push_back(since);
  }
}

}  // namespace

DefaultJob default_job(const WorkloadTrace& trace) {
  const BatchRecord& usual = trace.batches[*trace.index_of(trace.workload.default_batch)];
  const LimitRecord& highest = usual.limits.front();
  const auto epochs = mean_epochs(usual, trace.workload.most_epochs);
  const double taken = epochs.value_or(trace.workload.most_epochs);
  return {highest.epoch_energy() * taken, highest.epoch_time * taken, !epochs, usual.batch_size,
          highest.limit};
}

bool may_reach(const WorkloadTrace& trace) {
  for (const BatchRecord& batch : trace.batches) {
    for (const std::optional<int>& epochs : batch.epochs) {
      if (epochs && *epochs <= trace.workload.most_epochs) return true;
    }
  }
  return false;
}

Result<PolicyEvaluation> evaluate_policy(const WorkloadTrace& trace, const PolicyChoice& choice,
                                         const EvaluationOptions& options) {
  PJ_TRY(const JobCost cost, JobCost::make(choice.eta, trace.max_power));
  const std::optional<Optimum> best = cheapest(trace, cost);
  if (!best) {
    return Error::unavailable(trace.workload.name +
                              ": no batch size reached the target in every recorded run");
  }
  const DefaultJob usual = default_job(trace);
  const Joules usual_cost = cost.of(usual.energy, usual.time);
  PolicyEvaluation result;
  result.recurrences = options.recurrences > 0 ? options.recurrences : usual_recurrences(trace);
  Collected all;
  for (int i = 0; i < options.seeds; ++i) {
    PJ_TRY(const PlayedPolicy played, make_policy(choice, trace, cost));
    const Random random(options.first_seed + static_cast<std::uint64_t>(i));
    std::function<void(int)> progress;
    if (options.progress) {
      progress = [&](int done) {
        options.progress((i + static_cast<double>(done) / result.recurrences) / options.seeds);
      };
    }
    const JobSimulation job = simulate_job(trace, cost, *played.policy, played.search,
                                           result.recurrences, random, progress);
    collect(job, result.recurrences, usual, usual_cost, best->cost, all);
  }
  const bool one = options.seeds == 1;
  const int recurrences = options.seeds * result.recurrences;
  result.eta = {one ? all.one_eta : statistic(all.mean_eta), recurrences, all.censored};
  result.tta = {one ? all.one_tta : statistic(all.mean_tta), recurrences, all.censored};
  result.default_censored = usual.censored;
  result.last_energy_saved = statistic(all.last_energy);
  result.last_time_saved = statistic(all.last_time);
  result.energy_saved = statistic(all.energy);
  result.time_saved = statistic(all.time);
  result.regret = statistic(all.regret);
  result.runs = statistic(all.runs);
  result.failed = statistic(all.failed);
  result.amortised = statistic(all.amortised);
  result.cheaper_seeds = all.cheaper;
  int total = 0;
  int most = 0;
  for (const auto& [pick, count] : all.picks) {
    total += count;
    if (count <= most) continue;
    most = count;
    result.picked_batch = pick.first;
    result.picked_limit = Watts(pick.second);
  }
  result.picked_share = total > 0 ? static_cast<double>(most) / total : 0;
  return result;
}

}  // namespace perjoule
