// The frontiers that Kareus's artifact has. It holds whole iterations as its solver predicts them,
// for three ways to run a model (its own, nanobatches under Perseus, Perseus), and no table of its
// partitions: so what can be compared is the choice among them. Ways are knobs like any other: with
// all of them as options no time takes more than any of the ways does alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "base/csv.h"
#include "base/test_data.h"
#include "pipeline/peers/recorded_plans.h"
#include "pipeline/plan/planner.h"

namespace perjoule {
namespace {

constexpr double kWaiting = 2 * 85;  ///< W, of the two stages

struct Predicted {
  std::string method;
  double time = 0;
  double effective = 0;
  double total = 0;
};

/// By model, parallelism, microbatch and sequence.
std::map<std::string, std::vector<Predicted>> read_frontiers(const std::string& path) {
  const CsvTable table = *read_csv(path);
  std::map<std::string, std::vector<Predicted>> jobs;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    std::string job;
    for (const char* column : {"model", "cp", "tp", "mbs", "seq"}) {
      job += std::string(table.cell(row, *table.column(column))) + " ";
    }
    jobs[job].push_back({std::string(table.cell(row, 0)),
                         *table.number(row, *table.column("time_s")),
                         *table.number(row, *table.column("effective_J")),
                         *table.number(row, *table.column("total_with_p2p_J"))});
  }
  return jobs;
}

RecordedPlans plans_of(const std::vector<Predicted>& points) {
  std::vector<KnobOption> options;
  for (const Predicted& one : points) {
    options.push_back(
        {plan_knob(one.method, options.size()), Seconds(one.time), Joules(one.total), {}, {}, 1});
  }
  return RecordedPlans(std::move(options), Watts(kWaiting));
}

TEST(KareusGolden, AllWaysTogetherAreNeverWorseThanAnyOfThem) {
  PJ_TEST_DATA(path, "perseus/real/kareus_artifact_frontiers.csv");
  const auto jobs = read_frontiers(path);
  ASSERT_EQ(jobs.size(), 10U);
  for (const auto& [job, points] : jobs) {
    SCOPED_TRACE(job);
    const RecordedPlans plans = plans_of(points);
    PlanRequest request;
    request.least_energy = false;
    for (const Predicted& one : points) {
      EXPECT_NEAR(one.effective + kWaiting * one.time, one.total, 1e-6);
      request.times.push_back(Seconds(one.time));
    }
    const auto study = study_pipeline(*plans.problem, request);
    ASSERT_TRUE(study) << study.error().text();
    std::map<std::string, int> chosen;
    for (const Predicted& one : points) {
      const Ticks until = plans.problem->ticks(Seconds(one.time));
      const PlannedIteration& plan = study->for_straggler(until, StragglerPolicy::kLeastUntil);
      EXPECT_LE(plan.iteration.makespan, until);
      // With one instruction the plan is the best option in time, and the bound below it.
      EXPECT_LE(plan.plan.effective, one.effective + 1e-6);
      EXPECT_LE(plan.plan.bound, plan.plan.effective + 1e-6);
      for (const Predicted& other : points) {
        if (other.time > one.time) continue;
        EXPECT_LE(plan.plan.effective, other.effective + 1e-6) << other.method;
      }
      const std::uint32_t option = measured_options(*plans.problem, plan.plan).front();
      const Config& knob = plans.problem->profiled(0).options[option].knob;
      ASSERT_TRUE(knob.find("method"));
      ++chosen[std::string(*knob.find("method"))];
    }
    std::cout << job << ":";
    for (const auto& [method, count] : chosen) std::cout << "  " << method << ' ' << count;
    std::cout << "\n";
  }
}

}  // namespace
}  // namespace perjoule
