// The recorded optima of Zeus's traces, and the closed form they come from.
#include "train/expectation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/test_data.h"
#include "frontier/frontier.h"
#include "train/evaluate.h"

namespace perjoule {
namespace {

Result<WorkloadTrace> traced(const std::string& gpu, std::size_t workload) {
  PJ_TRY(const TraceTables tables, TraceTables::read(test_data_folder() + "/zeus_nsdi23", gpu));
  return tables.select(zeus_workloads()[workload]);
}

/// Batch size and limit.
using Pair = std::pair<int, int>;

Pair pair_of(const Point& point) {
  return {static_cast<int>(*point.config.number("batch")),
          static_cast<int>(*point.config.number("power limit"))};
}

Pair chosen(const Frontier& frontier, const Rule& rule) {
  const auto choice = frontier.choose(rule);
  return choice ? pair_of(frontier.points()[choice->chosen]) : Pair{0, 0};
}

TEST(JobCost, IsZeussAndRefusesAnEtaOutsideItsRange) {
  const auto cost = JobCost::make(0.25, Watts(300));
  ASSERT_TRUE(cost);
  EXPECT_DOUBLE_EQ(cost->of(Joules(1000), Seconds(4)).value(), 0.25 * 1000 + 0.75 * 300 * 4);
  EXPECT_FALSE(JobCost::make(-0.1, Watts(300)));
  EXPECT_FALSE(JobCost::make(1.1, Watts(300)));
  EXPECT_FALSE(JobCost::make(0.5, Watts(0)));
}

struct Expected {
  Pair cheapest, least_energy, least_time;
  double time, energy, cost;  // of the cheapest, as published to seven figures
};

TEST(Expectation, V100OptimaAreThoseOfTheRecords) {
  PJ_TEST_DATA(file, "zeus_nsdi23/summary_train.csv");
  const std::vector<Expected> expected = {
      {{48, 150}, {32, 100}, {48, 250}, 45777.2, 5846868, 8645586},
      {{12, 200}, {8, 125}, {12, 250}, 7157.6, 1341226, 1565318},
      {{64, 175}, {32, 125}, {64, 250}, 13385.7, 2180791, 2763607},
      {{360, 175}, {360, 150}, {360, 250}, 80110.5, 13233277, 16630452},
      {{128, 100}, {128, 100}, {256, 225}, 339.2, 28478, 56640},
      {{16384, 175}, {16384, 150}, {16384, 175}, 30.9, 1119, 4420},
  };
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto trace = traced("v100", i);
    ASSERT_TRUE(trace) << trace.error().text();
    const auto cost = JobCost::make(0.5, trace->max_power);
    const auto frontier = Frontier::make(expected_points(*trace));
    ASSERT_TRUE(frontier);
    const auto best = cheapest(*trace, *cost);
    ASSERT_TRUE(best);
    const Expected& want = expected[i];
    const auto cheapest_pair = chosen(*frontier, EtaCost{0.5, trace->max_power});
    EXPECT_EQ(cheapest_pair, want.cheapest) << i;
    EXPECT_EQ(trace->batches[best->place.batch].batch_size, want.cheapest.first);
    EXPECT_EQ(chosen(*frontier, EtaCost{1, trace->max_power}), want.least_energy) << i;
    EXPECT_EQ(chosen(*frontier, EtaCost{0, trace->max_power}), want.least_time) << i;
    EXPECT_NEAR(best->cost.value(), want.cost, 0.51) << i;
    for (const Point& point : frontier->points()) {
      if (pair_of(point) != want.cheapest) continue;
      EXPECT_NEAR(point.time.value(), want.time, 0.051);
      EXPECT_NEAR(point.energy.joules.value(), want.energy, 0.51);
      EXPECT_NEAR(cost->of(point.energy.joules, point.time) / best->cost, 1, 1e-12);
      EXPECT_EQ(point.energy.status, Status::kReconstructed);
    }
  }
}

// Optimum by eta 0, 0.25, 0.5, 0.75 and 1, as published.
TEST(Expectation, V100OptimaMoveWithEta) {
  PJ_TEST_DATA(file, "zeus_nsdi23/summary_train.csv");
  const std::vector<std::vector<Pair>> expected = {
      {{48, 250}, {48, 250}, {48, 150}, {48, 150}, {32, 100}},
      {{12, 250}, {12, 250}, {12, 200}, {12, 150}, {8, 125}},
      {{64, 250}, {64, 250}, {64, 175}, {32, 150}, {32, 125}},
      {{360, 250}, {360, 250}, {360, 175}, {360, 150}, {360, 150}},
      {{256, 225}, {128, 125}, {128, 100}, {128, 100}, {128, 100}},
      {{16384, 175}, {16384, 175}, {16384, 175}, {16384, 150}, {16384, 150}},
  };
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto trace = traced("v100", i);
    ASSERT_TRUE(trace);
    const auto frontier = Frontier::make(expected_points(*trace));
    for (std::size_t j = 0; j < 5; ++j) {
      const double eta = 0.25 * static_cast<double>(j);
      EXPECT_EQ(chosen(*frontier, EtaCost{eta, trace->max_power}), expected[i][j]) << i << eta;
      const auto best = cheapest(*trace, *JobCost::make(eta, trace->max_power));
      ASSERT_TRUE(best);
      const BatchRecord& batch = trace->batches[best->place.batch];
      EXPECT_EQ(
          Pair(batch.batch_size, static_cast<int>(batch.limits[best->place.limit].limit.value())),
          expected[i][j])
          << i << eta;
    }
  }
}

// The default (b0 at 250 W), as published to seven figures.
TEST(Expectation, V100DefaultsAreThoseOfTheRecords) {
  PJ_TEST_DATA(file, "zeus_nsdi23/summary_train.csv");
  const double expected[6][3] = {{59343.6, 9528122, 12182017}, {7106.5, 1621829, 1699223},
                                 {12344.6, 2758293, 2922218},  {74517.7, 16412549, 17520989},
                                 {599.2, 112458, 131125},      {84.9, 3229, 12229}};
  for (std::size_t i = 0; i < 6; ++i) {
    const auto trace = traced("v100", i);
    ASSERT_TRUE(trace);
    const DefaultJob usual = default_job(*trace);
    EXPECT_FALSE(usual.censored);
    EXPECT_EQ(usual.limit, Watts(250));
    EXPECT_NEAR(usual.time.value(), expected[i][0], 0.051) << i;
    EXPECT_NEAR(usual.energy.value(), expected[i][1], 0.51) << i;
    const auto cost = JobCost::make(0.5, trace->max_power);
    EXPECT_NEAR(cost->of(usual.energy, usual.time).value(), expected[i][2], 0.51) << i;
  }
}

/// Mean epochs by batch size, straight from the rows of summary_train.csv; NAN where a run misses.
std::map<int, double> recorded_epochs(const CsvTable& table, const Workload& workload) {
  std::map<int, std::vector<double>> runs;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto cell = [&](const char* column) {
      return std::string(table.cell(row, *table.column(column)));
    };
    if (cell("dataset") != workload.dataset || cell("network") != workload.network ||
        cell("optimizer") != workload.optimizer ||
        std::stod(cell("target_metric")) != workload.target)
      continue;
    const std::string epochs = cell("target_epoch");
    const double taken = epochs.empty() ? NAN : std::stod(epochs);
    runs[std::stoi(cell("batch_size"))].push_back(taken <= workload.most_epochs ? taken : NAN);
  }
  std::map<int, double> means;
  for (const auto& [size, epochs] : runs) {
    for (const double each : epochs) means[size] += each / static_cast<double>(epochs.size());
  }
  return means;
}

// TTA = mean epochs x time of an epoch and ETA = TTA x mean power, from the cells of the tables and
// not from what our reader made of them.
TEST(Expectation, EveryPointIsTheClosedFormOfTheTables) {
  PJ_TEST_DATA(file, "zeus_nsdi23/summary_train.csv");
  const std::string folder = file.substr(0, file.rfind('/'));
  const auto training = read_csv(file);
  ASSERT_TRUE(training);
  std::size_t checked = 0;
  for (const char* gpu : {"v100", "a40", "rtx6000", "p100"}) {
    const auto power = read_csv(folder + "/summary_power_" + gpu + ".csv");
    ASSERT_TRUE(power);
    for (std::size_t i = 0; i < zeus_workloads().size(); ++i) {
      const Workload& workload = zeus_workloads()[i];
      const auto epochs = recorded_epochs(*training, workload);
      std::map<Pair, std::pair<double, double>> expected;
      for (std::size_t row = 0; row < power->rows(); ++row) {
        const auto cell = [&](const char* column) {
          return std::string(power->cell(row, *power->column(column)));
        };
        if (cell("dataset") != workload.dataset || cell("network") != workload.network ||
            cell("optimizer") != workload.optimizer)
          continue;
        const int size = std::stoi(cell("batch_size"));
        if (epochs.count(size) == 0 || std::isnan(epochs.at(size))) continue;
        const double tta = epochs.at(size) * std::stod(cell("time_per_epoch"));
        expected[{size, static_cast<int>(std::stod(cell("power_limit")))}] = {
            tta, tta * std::stod(cell("average_power"))};
      }
      const std::vector<Point> points = expected_points(*traced(gpu, i));
      EXPECT_EQ(points.size(), expected.size()) << gpu << " " << workload.name;
      for (const Point& point : points) {
        ASSERT_EQ(expected.count(pair_of(point)), 1U) << gpu << " " << workload.name;
        const auto& [tta, eta] = expected[pair_of(point)];
        EXPECT_NEAR(point.time.value() / tta, 1, 1e-9);
        EXPECT_NEAR(point.energy.joules.value() / eta, 1, 1e-9);
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 800U);
}

TEST(Expectation, CheapestOnOtherGpus) {
  PJ_TEST_DATA(file, "zeus_nsdi23/summary_train.csv");
  const std::vector<std::pair<const char*, std::vector<Pair>>> expected = {
      {"a40", {{32, 175}, {32, 225}, {128, 200}, {256, 225}, {128, 225}, {16384, 100}}},
      {"rtx6000", {{32, 175}, {4, 200}, {128, 260}, {256, 200}, {256, 125}, {16384, 175}}},
      {"p100", {{56, 200}, {4, 175}, {32, 150}, {128, 150}, {128, 125}, {16384, 250}}},
  };
  for (const auto& [gpu, pairs] : expected) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto trace = traced(gpu, i);
      ASSERT_TRUE(trace);
      const auto best = cheapest(*trace, *JobCost::make(0.5, trace->max_power));
      ASSERT_TRUE(best);
      const BatchRecord& batch = trace->batches[best->place.batch];
      const Pair found{batch.batch_size,
                       static_cast<int>(batch.limits[best->place.limit].limit.value())};
      EXPECT_EQ(found, pairs[i]) << gpu << " " << trace->workload.name;
    }
  }
}

TEST(Expectation, ABatchSizeThatMayMissTheTargetIsCensored) {
  BatchRecord batch{32, {5, std::nullopt}, {{Watts(100), Seconds(10), Watts(90)}}};
  EXPECT_EQ(mean_epochs(batch, 20), std::nullopt);
  batch.epochs = {5, 30};
  EXPECT_EQ(mean_epochs(batch, 20), std::nullopt);
  EXPECT_EQ(mean_epochs(batch, 30), 17.5);
}

}  // namespace
}  // namespace perjoule
