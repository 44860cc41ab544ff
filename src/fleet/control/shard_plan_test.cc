#include "fleet/control/shard_plan.h"

#include <numeric>

#include "fleet/simulate/test_fleet.h"

namespace perjoule {
namespace {

TEST(ShardPlanTest, ThePlanCarriesTheLoadWithNoMoreThanEightGpusInstances) {
  const TestFleet fleet(1);
  for (const double load : {500.0, 3000.0, 9000.0, 20'000.0}) {
    const ShardQuestion question{.gpus = 32, .load = load, .idle_gpu = Watts(75)};
    const auto plan = plan_shards(fleet.capacity, question);
    ASSERT_TRUE(plan) << plan.error().text();
    ASSERT_TRUE(plan->feasible);
    double carried = 0;
    int gpus = 0;
    for (std::size_t layout = 0; layout < 3; ++layout) {
      carried += plan->instances[layout] * fleet.capacity.highest_load(layout, 1, kMixedClass);
      gpus += plan->instances[layout] * fleet.capacity.gpus(layout);
    }
    EXPECT_GE(carried, load);
    EXPECT_LE(gpus, 32);
    // No worse than instances over eight GPUs each.
    EXPECT_LE(plan->power, power_of_shards(fleet.capacity, question, {0, 0, 4}) + Watts(1e-6));
  }
}

TEST(ShardPlanTest, ALoadThatIsTooMuchGetsWhatCarriesMost) {
  const TestFleet fleet(1);
  const auto plan = plan_shards(fleet.capacity, {.gpus = 8, .load = 1e6, .idle_gpu = Watts(75)});
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->feasible);
  EXPECT_GE(std::accumulate(plan->instances.begin(), plan->instances.end(), 0), 1);
}

TEST(ShardPlanTest, LowerClocksTakeLess) {
  const TestFleet fleet(1);
  ShardQuestion question{.gpus = 16, .load = 2000, .idle_gpu = Watts(75)};
  const auto frugal = plan_shards(fleet.capacity, question);
  question.at_highest_clock = true;
  const auto quick = plan_shards(fleet.capacity, question);
  ASSERT_TRUE(frugal && quick);
  EXPECT_LT(frugal->power, quick->power);
}

TEST(ShardPlanTest, LargerInstancesAreLaidOutFirstAndServersFilled) {
  const TestFleet fleet(1);
  const auto servers = lay_out(fleet.capacity, {3, 3, 1}, 4, 8);
  const std::vector<ServerShards> wanted = {{0, 0, 1}, {0, 2, 0}, {2, 1, 0}, {1, 0, 0}};
  EXPECT_EQ(servers, wanted);
}

}  // namespace
}  // namespace perjoule
