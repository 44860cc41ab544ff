// The 24 pool problems of the recorded data, by every solver, and their equal splits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "base/json.h"
#include "fleet/plan/pool_integer_programme.h"
#include "fleet/plan/pool_solver.h"
#include "fleet/plan/server_curves.h"
#include "fleet/plan/test_profiles.h"

namespace perjoule {
namespace {

PoolProblem problem_of(const ServingProfile& both, const Json& example) {
  PoolProblem problem;
  problem.load = *example.number("load_tps");
  problem.kinds = pool_kinds(
      both, mean_target(*example.number("slo_ttft_mean_ms"), *example.number("slo_tbt_mean_ms")));
  for (PoolKind& kind : problem.kinds) {
    const bool a100 = kind.name == "A100_80GB_PCIe x1";
    EXPECT_TRUE(a100 || kind.name == "RTX_A6000 x4") << kind.name;
    kind.most = static_cast<int>(*example.integer(a100 ? "max_A100_PCIe_1gpu" : "max_A6000_4gpu"));
  }
  return problem;
}

/// "A100 1200 MHz 1600 x3" of every use.
std::multiset<std::string> told(const ServingProfile& both, const PoolProblem& problem,
                                const PoolPlan& plan) {
  std::multiset<std::string> lines;
  for (const PoolUse& use : plan.uses) {
    const PoolRow& row = problem.kinds[use.kind].rows[use.row];
    const ProfileCurve& curve = both.curves[row.curve];
    const bool a100 = curve.layout.gpu == "A100_80GB_PCIe";
    lines.insert(fmt::format("{} {:g} MHz {:g} x{}", a100 ? "A100" : "A6000", curve.clock_mhz,
                             row.load, use.count));
  }
  return lines;
}

void expect_plan(const ServingProfile& both, const PoolProblem& problem,
                 const Result<PoolPlan>& plan, const Json& wanted) {
  ASSERT_TRUE(plan) << plan.error().text();
  ASSERT_EQ(plan->feasible, *wanted.find("feasible")->as_bool());
  if (!plan->feasible) return;
  EXPECT_NEAR(plan->power.value(), *wanted.number("power_w"), 1e-4);
  std::multiset<std::string> lines;
  for (const Json& one : *wanted.find("instances")->as_array()) {
    lines.insert(fmt::format("{} {} MHz {} x{}", *one.string("gpu"), *one.integer("clock"),
                             *one.integer("tps"), *one.integer("count")));
  }
  EXPECT_EQ(told(both, problem, *plan), lines);
}

void expect_equal_split(const ServingProfile& profile, const Json& example, const char* member,
                        ClockScaling clock) {
  const Json* wanted = example.find(member);
  if (wanted == nullptr) return;
  const auto servers = ServerCurves::make(profile, mean_target(*example.number("slo_ttft_mean_ms"),
                                                               *example.number("slo_tbt_mean_ms")));
  ASSERT_TRUE(servers) << servers.error().text();
  const auto split =
      best_equal_split(*servers, *example.number("load_tps"),
                       static_cast<int>(*example.integer("max_A100_PCIe_1gpu")), {.clock = clock});
  ASSERT_EQ(split.has_value(), !wanted->is_null());
  if (!split) return;
  EXPECT_NEAR(split->power.value(), *wanted->number("power_w"), 1e-4);
  EXPECT_EQ(split->servers, *wanted->integer("n"));
  EXPECT_DOUBLE_EQ(*example.number("load_tps") / split->servers, *wanted->number("tps_each"));
  if (const auto mhz = wanted->number("clock")) {
    EXPECT_EQ(servers->curve(split->use.curve).clock_mhz, *mhz);
  }
}

TEST(PoolGolden, TwentyFourProblems) {
  PJ_TEST_DATA(path, kBeamFolder + "expected_pool_and_cluster.json");
  const auto expected = parse_json(read_file(path).value());
  ASSERT_TRUE(expected);
  const auto a100 = read_serving_profile(test_data_folder() + "/" + kBeamQwenA100, {});
  const auto a6000 = read_serving_profile(test_data_folder() + "/" + kBeamQwenA6000, {});
  ASSERT_TRUE(a100);
  ASSERT_TRUE(a6000);
  ServingProfile both = *a100;
  both.curves.insert(both.curves.end(), a6000->curves.begin(), a6000->curves.end());
  const Json::Array& examples = *expected->find("pool")->as_array();
  ASSERT_EQ(examples.size(), 24U);
  for (const Json& example : examples) {
    SCOPED_TRACE(example.dump());
    const PoolProblem problem = problem_of(both, example);
    const Json& wanted = *example.find("milp");
    expect_plan(both, problem, solve_pool(problem), wanted);
    expect_plan(both, problem, solve_pool_by_labels(problem), wanted);
    const auto cbc = solve_pool_by_cbc(problem);
    if (cbc || cbc.error().code != ErrorCode::kUnavailable) expect_plan(both, problem, cbc, wanted);
    expect_equal_split(*a100, example, "uniform_split", ClockScaling::kFree);
    expect_equal_split(*a100, example, "uniform_max_clock", ClockScaling::kHighest);
  }
}

}  // namespace
}  // namespace perjoule
