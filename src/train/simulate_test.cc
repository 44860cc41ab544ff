// Simulated policies: Zeus's is held against a recorded run of Zeus's own simulator, ours against
// Zeus's recorded regret.
#include "train/simulate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/csv.h"
#include "base/test_data.h"
#include "train/perjoule_policy.h"
#include "train/zeus_policy.h"

namespace perjoule {
namespace {

std::string traces() { return test_data_folder() + "/zeus_nsdi23"; }

struct PeerRun {
  int batch_size;
  double limit, energy, time;
  bool reached;
};

std::map<std::string, std::vector<PeerRun>> peer_history() {
  std::map<std::string, std::vector<PeerRun>> runs;
  const auto table = read_csv(traces() + "/peer_history_v100_seed1.csv");
  if (!table) return runs;
  for (std::size_t row = 0; row < table->rows(); ++row) {
    const auto number = [&](const char* column) {
      return table->number(row, *table->column(column)).value_or(NAN);
    };
    runs[std::string(table->cell(row, *table->column("workload")))].push_back(
        {static_cast<int>(number("batch_size")), number("power_limit_w"), number("energy_j"),
         number("time_s"), number("reached") == 1});
  }
  return runs;
}

// Which training Zeus drew is its generator's doing; how long it let it run, and what that cost, is
// not. So every recorded training is offered to our policy, which must allow the same epochs, and
// to our sums, which must arrive at the same figures.
TEST(ZeusPolicy, LetsEveryRecordedTrainingRunAsLongAsZeusDid) {
  PJ_TEST_DATA(file, "zeus_nsdi23/peer_history_v100_seed1.csv");
  const auto tables = TraceTables::read(traces(), "v100");
  ASSERT_TRUE(tables) << tables.error().text();
  auto history = peer_history();
  std::size_t rows = 0;
  for (const Workload& workload : zeus_workloads()) {
    const auto trace = tables->select(workload);
    const auto cost = JobCost::make(0.5, trace->max_power);
    auto policy = ZeusPolicy::make(spec_of(*trace, 2));
    ASSERT_TRUE(policy);
    std::map<int, int> seen;
    Joules spent;
    for (const PeerRun& peer : history[workload.name]) {
      const std::size_t batch = *trace->index_of(peer.batch_size);
      const BatchRecord& record = trace->batches[batch];
      const LimitRecord& limit = record.limits[cheapest_limit(record, *cost)];
      EXPECT_EQ(limit.limit.value(), peer.limit);
      // The epochs that explain the recorded time.
      Joules first_energy;
      Seconds first_time;
      for (const LimitRecord& each : record.limits) {
        first_energy += each.epoch_energy() / static_cast<double>(record.limits.size());
        first_time += each.epoch_time / static_cast<double>(record.limits.size());
      }
      const bool first = seen[peer.batch_size]++ == 0;
      const double plain = first ? (peer.time - first_time.value()) / limit.epoch_time.value()
                                 : peer.time / limit.epoch_time.value();
      const int epochs = static_cast<int>(std::lround(plain)) + (first ? 1 : 0);
      EXPECT_NEAR(plain, std::round(plain), 1e-6);
      const Joules energy =
          limit.epoch_energy() * std::round(plain) + (first ? first_energy : Joules(0));
      EXPECT_NEAR(energy.value() / peer.energy, 1, 1e-9);
      const int allowed = std::min(workload.most_epochs,
                                   (*policy)->most_epochs(peer.batch_size, cost->of_epoch(limit)));
      if (peer.reached) {
        EXPECT_LE(epochs, allowed) << workload.name << " " << peer.batch_size;
      } else {
        EXPECT_EQ(epochs, allowed) << workload.name << " " << peer.batch_size;
      }
      const Joules run_cost = cost->of(energy, Seconds(peer.time));
      spent += run_cost;
      (*policy)->report({peer.batch_size, peer.reached, epochs, cost->of_epoch(limit), run_cost},
                        spent);
      if (peer.reached) spent = Joules(0);
      ++rows;
    }
  }
  EXPECT_EQ(rows, 776U);
}

/// The order of the pruning, from the policy alone.
TEST(ZeusPolicy, PrunesDownThenUpTwiceFromTheCheapest) {
  PJ_TEST_DATA(file, "zeus_nsdi23/peer_history_v100_seed1.csv");
  const auto tables = TraceTables::read(traces(), "v100");
  auto history = peer_history();
  // As published: predictions spent until the arms were settled.
  const std::map<std::string, std::size_t> pruning = {{"deepspeech2", 25}, {"bert_qa", 14},
                                                      {"bert_sa", 10},     {"resnet50", 9},
                                                      {"shufflenet", 12},  {"ncf", 12}};
  for (const Workload& workload : zeus_workloads()) {
    const auto trace = tables->select(workload);
    const auto cost = JobCost::make(0.5, trace->max_power);
    auto policy = ZeusPolicy::make(spec_of(*trace, 2));
    Random random(1);
    Joules spent;
    for (std::size_t i = 0; i < pruning.at(workload.name); ++i) {
      const PeerRun& peer = history[workload.name][i];
      EXPECT_EQ((*policy)->next(random, {}), peer.batch_size) << workload.name << " " << i;
      const BatchRecord& record = trace->batches[*trace->index_of(peer.batch_size)];
      const Joules run_cost = cost->of(Joules(peer.energy), Seconds(peer.time));
      spent += run_cost;
      (*policy)->report({peer.batch_size, peer.reached, 1,
                         cost->of_epoch(record.limits[cheapest_limit(record, *cost)]), run_cost},
                        spent);
      if (peer.reached) spent = Joules(0);
    }
  }
}

struct Statistic {
  double mean = 0;
  double error = 0;  ///< standard error of the mean
};

Statistic statistic(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  Statistic result;
  for (const double value : values) result.mean += value / n;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.error = std::sqrt(squares / (n - 1) / n);
  return result;
}

struct Summary {
  Statistic saved;        ///< energy of the last five recurrences against the default, per cent
  Statistic regret;       ///< optimal costs
  int below_default = 0;  ///< seeds whose cumulative cost ends below the default's
};

template <typename Policy>
Summary summarise(const WorkloadTrace& trace, LimitSearch search, int seeds) {
  const auto cost = JobCost::make(0.5, trace.max_power);
  const auto best = cheapest(trace, *cost);
  const BatchRecord& usual = trace.batches[*trace.index_of(trace.workload.default_batch)];
  const double epochs = *mean_epochs(usual, trace.workload.most_epochs);
  const int recurrences = usual_recurrences(trace);
  std::vector<double> saved;
  std::vector<double> regret;
  Summary summary;
  for (int seed = 1; seed <= seeds; ++seed) {
    auto policy = Policy::make(spec_of(trace, 2));
    const JobSimulation job = simulate_job(trace, *cost, **policy, search, recurrences,
                                           Random(static_cast<std::uint64_t>(seed)));
    Joules last;
    Joules total;
    for (const SimulatedRun& run : job.runs) {
      if (run.recurrence >= recurrences - 5) last += run.energy;
    }
    for (const Joules each : job.recurrence_costs) total += each;
    saved.push_back(100 * (1 - last / 5 / (usual.limits[0].epoch_energy() * epochs)));
    regret.push_back(total / best->cost - recurrences);
    if (total < cost->of_epoch(usual.limits[0]) * epochs * recurrences) ++summary.below_default;
  }
  summary.saved = statistic(saved);
  summary.regret = statistic(regret);
  return summary;
}

/// Zeus's own 20 seeds, V100, from its simulator.
std::map<std::string, std::pair<Statistic, Statistic>> peer_statistics() {
  std::map<std::string, std::vector<double>> saved;
  std::map<std::string, std::vector<double>> regret;
  const auto table = read_csv(traces() + "/peer_sim.csv");
  for (std::size_t row = 0; row < table->rows(); ++row) {
    if (table->cell(row, *table->column("gpu")) != "v100" ||
        table->number(row, *table->column("eta")).value_or(0) != 0.5)
      continue;
    const auto number = [&](const char* column) {
      return table->number(row, *table->column(column)).value_or(NAN);
    };
    const std::string name(table->cell(row, *table->column("workload")));
    saved[name].push_back(100 * (1 - number("last5_energy_j") / number("default_energy_j")));
    regret[name].push_back(number("regret_optcost"));
  }
  std::map<std::string, std::pair<Statistic, Statistic>> result;
  for (const auto& [name, values] : saved)
    result[name] = {statistic(values), statistic(regret[name])};
  return result;
}

TEST(ZeusPolicy, ManySeedsAgreeWithZeussSimulator) {
  PJ_TEST_DATA(file, "zeus_nsdi23/peer_sim.csv");
  const auto tables = TraceTables::read(traces(), "v100");
  auto peers = peer_statistics();
  for (const Workload& workload : zeus_workloads()) {
    const auto trace = tables->select(workload);
    const Summary ours = summarise<ZeusPolicy>(*trace, LimitSearch::kAll, 200);
    const auto& [saved, regret] = peers[workload.name];
    EXPECT_NEAR(ours.saved.mean, saved.mean,
                std::max(0.3, 3 * std::hypot(ours.saved.error, saved.error)))
        << workload.name;
    EXPECT_NEAR(ours.regret.mean, regret.mean,
                std::max(0.1, 3 * std::hypot(ours.regret.error, regret.error)))
        << workload.name;
  }
}

TEST(PerjoulePolicy, RegretsLessThanZeusOnEveryWorkload) {
  PJ_TEST_DATA(file, "zeus_nsdi23/peer_sim.csv");
  const auto tables = TraceTables::read(traces(), "v100");
  auto peers = peer_statistics();
  double logs = 0;
  for (const Workload& workload : zeus_workloads()) {
    const auto trace = tables->select(workload);
    const Summary ours = summarise<PerjoulePolicy>(*trace, LimitSearch::kAround, 200);
    const double theirs = peers[workload.name].second.mean;
    EXPECT_LT(ours.regret.mean, theirs) << workload.name;
    logs += std::log(ours.regret.mean / theirs) / 6;
    if (workload.name == "resnet50") {
      EXPECT_GE(summarise<PerjoulePolicy>(*trace, LimitSearch::kAround, 20).below_default, 15);
    }
  }
  EXPECT_LE(std::exp(logs), 0.6);
}

TEST(Simulation, IsTheSameForTheSameSeed) {
  PJ_TEST_DATA(file, "zeus_nsdi23/peer_sim.csv");
  const auto trace = TraceTables::read(traces(), "v100")->select(zeus_workloads()[4]);
  const auto cost = JobCost::make(0.5, trace->max_power);
  const auto run = [&](std::uint64_t seed) {
    auto policy = PerjoulePolicy::make(spec_of(*trace, 2));
    return simulate_job(*trace, *cost, **policy, LimitSearch::kAround, 50, Random(seed))
        .recurrence_costs;
  };
  EXPECT_EQ(run(3), run(3));
  EXPECT_NE(run(3), run(4));
}

/// A trace without a file: batch sizes with epochs and one limit.
WorkloadTrace small_trace(const std::vector<std::pair<int, std::optional<int>>>& epochs,
                          int most_epochs) {
  WorkloadTrace trace;
  trace.workload = {"small", "d", "n", "o", 0.5, most_epochs, epochs.front().first};
  trace.max_power = Watts(300);
  for (const auto& [size, needed] : epochs) {
    trace.batches.push_back({size,
                             {needed},
                             {{Watts(300), Seconds(10.0 + 640.0 / size), Watts(280)},
                              {Watts(200), Seconds(12.0 + 640.0 / size), Watts(190)}}});
  }
  return trace;
}

template <typename Policy>
void expect_that_it_ends(const WorkloadTrace& trace) {
  const auto cost = JobCost::make(0.5, trace.max_power);
  auto policy = Policy::make(spec_of(trace, 2));
  ASSERT_TRUE(policy);
  const JobSimulation job =
      simulate_job(trace, *cost, **policy, LimitSearch::kAround, 30, Random(5));
  EXPECT_EQ(job.recurrence_costs.size(), 30U);
  EXPECT_LE(job.runs.size(), 600U);
}

TEST(Simulation, JobsThatNeverReachTheTargetEnd) {
  const auto never = small_trace({{32, std::nullopt}, {64, std::nullopt}}, 5);
  expect_that_it_ends<ZeusPolicy>(never);
  expect_that_it_ends<PerjoulePolicy>(never);
  const auto one_diverges = small_trace({{32, std::nullopt}, {64, 4}, {128, std::nullopt}}, 5);
  expect_that_it_ends<ZeusPolicy>(one_diverges);
  expect_that_it_ends<PerjoulePolicy>(one_diverges);
  expect_that_it_ends<PerjoulePolicy>(small_trace({{32, 4}}, 5));
}

TEST(PerjoulePolicy, FindsTheOnlyBatchSizeThatConverges) {
  const auto trace = small_trace({{32, std::nullopt}, {64, 4}, {128, std::nullopt}}, 5);
  const auto cost = JobCost::make(0.5, trace.max_power);
  auto policy = PerjoulePolicy::make(spec_of(trace, 2));
  const JobSimulation job =
      simulate_job(trace, *cost, **policy, LimitSearch::kAround, 20, Random(5));
  int others = 0;
  for (const SimulatedRun& run : job.runs) others += run.batch_size == 64 ? 0 : 1;
  EXPECT_LE(others, 3);
}

TEST(JobSpec, MistakesAreRefused) {
  const JobSpec good{{32, 64}, 32, 2, 0};
  EXPECT_TRUE(check(good));
  for (JobSpec bad :
       {JobSpec{{}, 32, 2, 0}, JobSpec{{64, 32}, 32, 2, 0}, JobSpec{{32, 32}, 32, 2, 0},
        JobSpec{{32, 64}, 48, 2, 0}, JobSpec{{32, 64}, 32, 0.5, 0}, JobSpec{{32, 64}, 32, 2, -1},
        JobSpec{{0, 64}, 64, 2, 0}}) {
    EXPECT_FALSE(check(bad));
    EXPECT_FALSE(ZeusPolicy::make(bad));
    EXPECT_FALSE(PerjoulePolicy::make(bad));
  }
}

}  // namespace
}  // namespace perjoule
