// The recorded optima of Zeus's traces, and the closed form they come from.
#include "train/expectation.h"

#include <gtest/gtest.h>

#include "base/test_data.h"
#include "frontier/frontier.h"

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

TEST(Expectation, EveryPointIsTheClosedForm) {
  PJ_TEST_DATA(file, "zeus_nsdi23/summary_train.csv");
  for (const char* gpu : {"v100", "a40", "rtx6000", "p100"}) {
    for (std::size_t i = 0; i < zeus_workloads().size(); ++i) {
      const auto trace = traced(gpu, i);
      ASSERT_TRUE(trace);
      const std::vector<Point> points = expected_points(*trace);
      std::size_t at = 0;
      for (const BatchRecord& batch : trace->batches) {
        double sum = 0;
        bool always = true;
        for (const auto& epochs : batch.epochs) {
          always = always && epochs && *epochs <= trace->workload.most_epochs;
          sum += epochs.value_or(0);
        }
        if (!always) continue;
        const double mean = sum / static_cast<double>(batch.epochs.size());
        for (const LimitRecord& record : batch.limits) {
          ASSERT_LT(at, points.size());
          const double tta = mean * record.epoch_time.value();
          EXPECT_NEAR(points[at].time.value() / tta, 1, 1e-9);
          EXPECT_NEAR(points[at].energy.joules.value() / (tta * record.power.value()), 1, 1e-9);
          ++at;
        }
      }
      EXPECT_EQ(at, points.size());
    }
  }
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
