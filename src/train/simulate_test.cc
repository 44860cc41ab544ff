// Simulated policies (50 seeds of ours here; `make bench` prints 200): Zeus's is held against a
// recorded run of Zeus's own simulator, ours against Zeus's recorded regret.
#include "train/simulate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/csv.h"
#include "base/test_data.h"
#include "train/evaluate.h"
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

/// The published workloads on V100, eta 0.5, beta 2.
PolicyEvaluation evaluated(const std::string& policy, const Workload& workload, int seeds) {
  const auto tables = TraceTables::read(traces(), "v100");
  const auto trace = tables->select(workload);
  EvaluationOptions options;
  options.seeds = seeds;
  PolicyChoice choice;
  choice.name = policy;
  const auto evaluation = evaluate_policy(*trace, choice, options);
  EXPECT_TRUE(evaluation) << evaluation.error().text();
  return evaluation.value_or(PolicyEvaluation());
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
    saved[name].push_back(1 - number("last5_energy_j") / number("default_energy_j"));
    regret[name].push_back(number("regret_optcost"));
  }
  std::map<std::string, std::pair<Statistic, Statistic>> result;
  for (const auto& [name, values] : saved)
    result[name] = {statistic(values), statistic(regret[name])};
  return result;
}

TEST(ZeusPolicy, ManySeedsAgreeWithZeussSimulator) {
  PJ_TEST_DATA(file, "zeus_nsdi23/peer_sim.csv");
  auto peers = peer_statistics();
  for (const Workload& workload : zeus_workloads()) {
    const PolicyEvaluation ours = evaluated("zeus", workload, 200);
    const auto& [saved, regret] = peers[workload.name];
    EXPECT_NEAR(ours.last_energy_saved.mean, saved.mean,
                std::max(0.003, 3 * std::hypot(ours.last_energy_saved.error, saved.error)))
        << workload.name;
    EXPECT_NEAR(ours.regret.mean, regret.mean,
                std::max(0.1, 3 * std::hypot(ours.regret.error, regret.error)))
        << workload.name;
  }
}

TEST(PerjoulePolicy, RegretsLessThanZeusOnEveryWorkload) {
  PJ_TEST_DATA(file, "zeus_nsdi23/peer_sim.csv");
  auto peers = peer_statistics();
  double logs = 0;
  for (const Workload& workload : zeus_workloads()) {
    const PolicyEvaluation ours = evaluated("perjoule", workload, 50);
    const double theirs = peers[workload.name].second.mean;
    EXPECT_LT(ours.regret.mean, theirs) << workload.name;
    logs += std::log(ours.regret.mean / theirs) / 6;
    if (workload.name == "resnet50") {
      EXPECT_GE(evaluated("perjoule", workload, 20).cheaper_seeds, 15);
    }
  }
  EXPECT_LE(std::exp(logs), 0.6);
}

// Published beside Zeus's regret: the order of trying differs a little, the regret hardly.
TEST(GridPolicy, RegretsWhatTryingEverythingCosts) {
  PJ_TEST_DATA(file, "zeus_nsdi23/peer_sim.csv");
  const double published[] = {89.1, 9.6, 8.2, 15.3, 249.1, 2306};
  for (std::size_t i = 0; i < zeus_workloads().size(); ++i) {
    const PolicyEvaluation grid = evaluated("grid", zeus_workloads()[i], 20);
    EXPECT_NEAR(grid.regret.mean / published[i], 1, 0.25) << zeus_workloads()[i].name;
  }
}

TEST(PlainPolicies, TheOracleRegretsNothingAndTheDefaultSavesNothing) {
  PJ_TEST_DATA(file, "zeus_nsdi23/peer_sim.csv");
  for (const Workload& workload : zeus_workloads()) {
    const PolicyEvaluation oracle = evaluated("oracle", workload, 200);
    EXPECT_NEAR(oracle.regret.mean, 0, 4 * oracle.regret.error + 1e-9) << workload.name;
    const PolicyEvaluation usual = evaluated("default", workload, 200);
    EXPECT_NEAR(usual.energy_saved.mean, 0, 4 * usual.energy_saved.error + 1e-9) << workload.name;
  }
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

// The size beside the default diverges, the best one lies beyond it.
TEST(PerjoulePolicy, ASmallerSizeThatDivergesDoesNotHideTheBestOne) {
  WorkloadTrace sorted = small_trace({{128, 10}, {16, 10}, {32, 5}, {64, std::nullopt}}, 20);
  std::sort(sorted.batches.begin(), sorted.batches.end(),
            [](const auto& a, const auto& b) { return a.batch_size < b.batch_size; });
  const auto cost = JobCost::make(0.5, sorted.max_power);
  auto policy = PerjoulePolicy::make(spec_of(sorted, 2));
  const JobSimulation job =
      simulate_job(sorted, *cost, **policy, LimitSearch::kAround, 30, Random(5));
  EXPECT_EQ(job.runs.back().batch_size, 32);
  int diverged = 0;
  for (const SimulatedRun& run : job.runs) diverged += run.batch_size == 64 ? 1 : 0;
  EXPECT_EQ(diverged, 1);
}

// With sentiment140's 64 diverging the best pair is (32, 175 W), next to it.
TEST(PerjoulePolicy, IsNotDearerThanTheDefaultForLongWhereASizeDiverges) {
  PJ_TEST_DATA(file, "zeus_nsdi23/peer_sim.csv");
  auto trace = TraceTables::read(traces(), "v100")->select(zeus_workloads()[2]);
  ASSERT_TRUE(trace);
  for (auto& epochs : trace->batches[*trace->index_of(64)].epochs) epochs = std::nullopt;
  EvaluationOptions options;
  options.seeds = 50;
  PolicyChoice choice;
  const auto regret = [&](const char* policy) {
    choice.name = policy;
    return evaluate_policy(*trace, choice, options)->regret.mean;
  };
  EXPECT_LT(regret("perjoule"), regret("default"));
  EXPECT_LT(regret("perjoule"), 0.75 * regret("zeus"));
}

TEST(PerjoulePolicy, WhatFailedBeforeAnythingReachedComesAfterTheOthers) {
  auto policy = PerjoulePolicy::make({{32, 64, 128}, 64, 2, 0, {}});
  Random random(1);
  EXPECT_EQ((*policy)->next(random, {}), 64);
  EXPECT_EQ((*policy)->next(random, {64}), 64);
  (*policy)->report_failure(64);
  // Also while others run.
  EXPECT_NE((*policy)->next(random, {64}), 64);
  (*policy)->report({32, true, 10, Joules(1), Joules(10)}, Joules(10));
  (*policy)->report_failure(128);
  for (int i = 0; i < 20; ++i) EXPECT_EQ((*policy)->next(random, {}), 32);
  // One failure of a size that did reach is an accident, two are not.
  (*policy)->report_failure(32);
  EXPECT_EQ((*policy)->next(random, {}), 32);
  (*policy)->report_failure(32);
  EXPECT_EQ((*policy)->most_epochs(64, Joules(1)), kAnyEpochs);  // nothing is known to reach
}

// The same numbers through a known noise and a normal prior, by hand: costs 100 and 140 of noise
// 20, expected at 200 give or take 10: precision 1/100 + 2/400, mean (2 + 120 * 2/400) / precision.
TEST(ZeusPolicy, AKnownNoiseAndAPriorAddTheirPrecisions) {
  JobSpec spec{{32, 64}, 32, 20, 0, {}};
  spec.prior = {Joules(20), Joules(200), Joules(10)};
  const double precision = 1.0 / 100 + 2.0 / 400;
  const double mean = (2 + 120 * 2.0 / 400) / precision;
  EXPECT_NEAR(mean, 173.33, 0.01);
  auto policy = ZeusPolicy::make(spec);
  ASSERT_TRUE(policy);
  Random random(1);
  for (int i = 0; i < 4; ++i) {
    const int size = (*policy)->next(random, {});
    const double cost = size == 64 ? (i < 2 ? 100 : 140) : (i < 2 ? 160 : 186.67);
    (*policy)->report({size, true, 1, Joules(cost), Joules(cost)}, Joules(cost));
  }
  // Both have the same precision: how often 64 is drawn follows from the distance of the means.
  int chosen = 0;
  for (int i = 0; i < 4000; ++i) chosen += (*policy)->next(random, {}) == 64 ? 1 : 0;
  const double other = (2 + 173.335 * 2.0 / 400) / precision;
  const double z = (other - mean) / std::sqrt(2 / precision);
  EXPECT_NEAR(chosen / 4000.0, 0.5 * std::erfc(-z / std::sqrt(2)), 0.03);
}

TEST(JobSpec, MistakesAreRefused) {
  const JobSpec good{{32, 64}, 32, 2, 0, {}};
  EXPECT_TRUE(check(good));
  for (JobSpec bad :
       {JobSpec{{}, 32, 2, 0, {}}, JobSpec{{64, 32}, 32, 2, 0, {}}, JobSpec{{32, 32}, 32, 2, 0, {}},
        JobSpec{{32, 64}, 48, 2, 0, {}}, JobSpec{{32, 64}, 32, 0.5, 0, {}},
        JobSpec{{32, 64}, 32, 2, -1, {}}, JobSpec{{0, 64}, 64, 2, 0, {}}}) {
    EXPECT_FALSE(check(bad));
    EXPECT_FALSE(ZeusPolicy::make(bad));
    EXPECT_FALSE(PerjoulePolicy::make(bad));
  }
}

}  // namespace
}  // namespace perjoule
