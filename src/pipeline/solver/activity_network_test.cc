#include "pipeline/solver/activity_network.h"

#include <gtest/gtest.h>

#include <array>

namespace perjoule {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ActivityNetwork, OrdersActivitiesBehindWhatTheyWaitFor) {
  const std::array<Precedence, 3> edges = {{{2, 1}, {1, 0}, {2, 0}}};
  const ActivityNetwork network(4, edges);
  const auto order = network.topological_order();
  ASSERT_TRUE(order);
  EXPECT_THAT(*order, ElementsAre(2, 3, 1, 0));
  EXPECT_THAT(network.find_cycle(), IsEmpty());
}

TEST(ActivityNetwork, ACircleIsNamedFirstToLast) {
  const std::array<Precedence, 5> edges = {{{0, 1}, {1, 2}, {2, 3}, {3, 1}, {3, 4}}};
  const ActivityNetwork network(5, edges);
  EXPECT_FALSE(network.topological_order());
  const auto cycle = network.find_cycle();
  ASSERT_EQ(cycle.size(), 3U);
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    EXPECT_THAT(network.successors(cycle[i]), testing::Contains(cycle[(i + 1) % cycle.size()]));
  }
}

TEST(ActivityNetwork, EarliestAndLatestTimes) {
  // 0 (3) and 1 (5) before 2 (2); 3 (1) on its own.
  const std::array<Precedence, 2> edges = {{{0, 2}, {1, 2}}};
  const ActivityNetwork network(4, edges);
  const std::vector<Ticks> durations = {3, 5, 2, 1};
  const auto order = *network.topological_order();
  const EarliestTimes times = earliest_times(network, order, durations);
  EXPECT_THAT(times.start, ElementsAre(0, 0, 5, 0));
  EXPECT_EQ(times.makespan, 7);
  EXPECT_THAT(latest_ends(network, order, durations, 7), ElementsAre(5, 5, 7, 7));
}

}  // namespace
}  // namespace perjoule
