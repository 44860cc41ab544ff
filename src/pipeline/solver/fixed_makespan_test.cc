#include "pipeline/solver/fixed_makespan.h"

#include <gtest/gtest.h>

#include "pipeline/solver/random_project.h"
#include "pipeline/solver/time_cost_repair.h"

namespace perjoule {
namespace {

/// A random project with what solving it takes.
struct Solved {
  RandomProject project;
  ActivityNetwork network;
  CurveSet curves;
  std::vector<std::uint32_t> order;
  TimeCostFrontier frontier;

  Solved(Random& random, std::uint32_t least, std::uint32_t spread,
         const ScheduleTimes& wanted = {})
      : project(random, least, spread),
        network(project.network()),
        curves(project.curves()),
        order(*network.topological_order()),
        frontier(*solve_time_cost(network, project.class_of, curves, wanted)) {}

  Result<Schedule> at(Ticks makespan) const {
    return schedule_of_makespan(network, order, project.class_of, curves, makespan);
  }
  bool proven(const Schedule& schedule) const {
    return is_proven_optimal(network, project.class_of, curves, schedule);
  }
  /// A makespan so far up from the shortest.
  Ticks between(int i, int of) const {
    return frontier.shortest() + (frontier.longest() - frontier.shortest()) * i / of;
  }
};

class FixedMakespan : public testing::TestWithParam<std::uint64_t> {};

TEST_P(FixedMakespan, IsTheFrontiersSchedule) {
  Random random(GetParam());
  const Solved solved(random, 4, 40);
  for (int i = 0; i <= 12; ++i) {
    const Ticks makespan = solved.between(i, 12);
    const auto schedule = solved.at(makespan);
    ASSERT_TRUE(schedule) << schedule.error().text();
    EXPECT_EQ(schedule->makespan, makespan);
    EXPECT_TRUE(solved.proven(*schedule)) << makespan;
    EXPECT_NEAR(cost_of(solved.project, solved.curves, *schedule),
                solved.frontier.cost_at(makespan), 1e-9);
    for (std::uint32_t a = 0; a < solved.network.size(); ++a) {
      EXPECT_GE(schedule->start[a], 0);
      EXPECT_LE(schedule->end[a], makespan);
      for (const std::uint32_t after : solved.network.successors(a))
        EXPECT_GE(schedule->start[after], schedule->end[a]);
    }
  }
}

TEST_P(FixedMakespan, MakespansThatCannotBeOrSaveNothingMoreAreHeld) {
  Random random(GetParam());
  const Solved solved(random, 4, 40);
  EXPECT_EQ(solved.at(0)->makespan, solved.frontier.shortest());
  EXPECT_EQ(solved.at(1 << 30)->makespan, solved.frontier.longest());
}

TEST_P(FixedMakespan, OfAFlowIsWhatCostsLeastWhereATickCostsThat) {
  Random random(GetParam());
  const Solved solved(random, 12, 40);
  for (int i = 1; i < 8; ++i) {
    const double price = 0.4 * i;
    const auto flow = static_cast<std::int64_t>(price / solved.curves.unit());
    const auto schedule = schedule_of_flow(solved.network, solved.order, solved.project.class_of,
                                           solved.curves, flow);
    ASSERT_TRUE(schedule) << schedule.error().text();
    EXPECT_TRUE(solved.proven(*schedule));
    const auto with_time = [&](Ticks t, double cost) {
      return cost + price * static_cast<double>(t);
    };
    const double mine =
        with_time(schedule->makespan, cost_of(solved.project, solved.curves, *schedule));
    for (Ticks t = solved.frontier.shortest(); t <= solved.frontier.longest(); ++t)
      EXPECT_LE(mine, with_time(t, solved.frontier.cost_at(t)) + 1e-9) << t;
  }
}

INSTANTIATE_TEST_SUITE_P(Random, FixedMakespan, testing::Range<std::uint64_t>(1, 40));

/// Networks that are solved in two parts and in four.
class FrontierInParts : public testing::TestWithParam<std::uint32_t> {};

TEST_P(FrontierInParts, IsOneFrontier) {
  Random random(GetParam());
  ScheduleTimes wanted;
  for (Ticks t = 0; t < 20'000; t += 97) wanted.makespans.push_back(t);
  wanted.flow = 1'000'000;
  const Solved solved(random, GetParam(), 1, wanted);
  EXPECT_EQ(solved.frontier.counts().parts, GetParam() < 300 ? 1U : GetParam() < 3000 ? 2U : 4U);
  const auto corners = solved.frontier.corners();
  EXPECT_EQ(corners.front().makespan, solved.frontier.longest());
  EXPECT_EQ(corners.back().makespan, solved.frontier.shortest());
  for (std::size_t i = 1; i < corners.size(); ++i) {
    EXPECT_LT(corners[i].makespan, corners[i - 1].makespan);
    EXPECT_GE(corners[i].cost, corners[i - 1].cost);
    if (i + 1 < corners.size()) {
      EXPECT_GT(corners[i].flow, corners[i - 1].flow) << "a corner that is none";
    }
  }
  EXPECT_EQ(solved.frontier.schedules().size(), wanted.makespans.size() + 1);
  for (const Schedule& schedule : solved.frontier.schedules()) {
    EXPECT_TRUE(solved.proven(schedule)) << schedule.makespan;
    EXPECT_NEAR(cost_of(solved.project, solved.curves, schedule),
                solved.frontier.cost_at(schedule.makespan), 1e-6);
  }
  for (int i = 0; i <= 40; ++i) {
    const Ticks makespan = solved.between(i, 40);
    EXPECT_NEAR(cost_of(solved.project, solved.curves, *solved.at(makespan)),
                solved.frontier.cost_at(makespan), 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, FrontierInParts, testing::Values(290, 300, 400, 800, 3100));

/// Stages that each run all their microbatches forward, then backward: the first and the last take
/// as long as everything may, so that whatever else there is shrinks with the makespan, all at
/// once.
TEST(FixedMakespanFlow, WhatFlowsGrowsWithTheMicrobatchesOfAGPipe) {
  RandomProject project = [] {
    Random random(1);
    return RandomProject(random);
  }();
  constexpr std::uint32_t kStages = 3, kMicrobatches = 60;
  const std::vector<CostPoint> heavy{{30, 9}};
  const std::vector<CostPoint> light{{10, 9}, {14, 6}, {19, 4}, {28, 2}};
  project.classes = {heavy, light, heavy};
  project.class_of.clear();
  project.edges.clear();
  const auto at = [](std::uint32_t stage, std::uint32_t m) {
    return stage * 2 * kMicrobatches + m;
  };
  for (std::uint32_t stage = 0; stage < kStages; ++stage) {
    for (std::uint32_t m = 0; m < 2 * kMicrobatches; ++m) {
      project.class_of.push_back(stage);
      if (m > 0) project.edges.push_back({at(stage, m - 1), at(stage, m)});
      const std::uint32_t next = m < kMicrobatches ? stage + 1 : stage - 1;
      if (next < kStages) project.edges.push_back({at(stage, m), at(next, m)});
    }
  }
  const ActivityNetwork network = project.network();
  const CurveSet curves = project.curves();
  const auto order = network.topological_order();
  ASSERT_TRUE(order);
  const auto frontier = solve_time_cost(network, project.class_of, curves);
  ASSERT_TRUE(frontier);
  EXPECT_EQ(frontier->counts().parts, 2U);
  for (int i = 0; i <= 3; ++i) {
    const Ticks makespan =
        frontier->shortest() + (frontier->longest() - frontier->shortest()) * i / 30;
    const auto schedule = schedule_of_makespan(network, *order, project.class_of, curves, makespan);
    ASSERT_TRUE(schedule) << schedule.error().text();
    EXPECT_TRUE(is_proven_optimal(network, project.class_of, curves, *schedule));
    EXPECT_NEAR(cost_of(project, curves, *schedule), frontier->cost_at(makespan), 1e-6);
  }
  // More than anything can carry is the shortest, less than nothing the longest.
  for (const auto& [flow, makespan] : {std::pair(CurveSet::kUnlimited, frontier->shortest()),
                                       std::pair(std::int64_t{-5}, frontier->longest())}) {
    const auto schedule = schedule_of_flow(network, *order, project.class_of, curves, flow);
    ASSERT_TRUE(schedule) << schedule.error().text();
    EXPECT_NEAR(cost_of(project, curves, *schedule), frontier->cost_at(makespan), 1e-6);
  }
}

TEST(WantedAlone, IsExactThereAndBelowInBetween) {
  Random random(7);
  const Solved solved(random, 60, 1);
  ScheduleTimes wanted;
  for (const int i : {1, 4, 5, 9}) wanted.makespans.push_back(solved.between(i, 12));
  wanted.makespans.push_back(solved.between(4, 12));  // twice
  wanted.flow = static_cast<std::int64_t>(1.0 / solved.curves.unit());
  std::vector<std::size_t> told;
  const auto alone = solve_wanted(solved.network, solved.project.class_of, solved.curves, wanted,
                                  [&](std::size_t done, std::size_t of) {
                                    EXPECT_EQ(of, 5U);
                                    told.push_back(done);
                                  });
  ASSERT_TRUE(alone) << alone.error().text();
  EXPECT_EQ(told, (std::vector<std::size_t>{1, 2, 3, 4, 5}));
  EXPECT_FALSE(alone->whole());
  EXPECT_TRUE(solved.frontier.whole());
  EXPECT_EQ(alone->shortest(), solved.frontier.shortest());
  EXPECT_EQ(alone->longest(), solved.frontier.longest());
  for (const Ticks makespan : wanted.makespans)
    EXPECT_NEAR(alone->cost_at(makespan), solved.frontier.cost_at(makespan), 1e-9);
  double widest = 0;
  for (Ticks t = solved.frontier.shortest(); t <= solved.frontier.longest(); ++t) {
    EXPECT_LE(alone->cost_at(t), solved.frontier.cost_at(t) + 1e-9) << t;
    widest = std::max(widest, solved.frontier.cost_at(t) - alone->cost_at(t));
  }
  EXPECT_GT(widest, 0) << "nothing lies between";
}

TEST(FixedMakespanLimits, TimesThatLeaveNoBitsAreRefusedAndTheFrontierGoesWithout) {
  // Three hundred in a row: the frontier would be solved in parts.
  CurveSet curves;
  const Ticks most = Ticks{1} << 51;
  curves.add(falling_hull({{most / 2, 5}, {most, 1}}), 300);
  ASSERT_TRUE(curves.seal());
  std::vector<Precedence> edges;
  for (std::uint32_t a = 1; a < 300; ++a) edges.push_back({a - 1, a});
  const ActivityNetwork network(300, edges);
  const std::vector<std::uint32_t> class_of(300, 0);
  const auto alone =
      schedule_of_makespan(network, *network.topological_order(), class_of, curves, most * 200);
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, ErrorCode::kOutOfRange);
  const auto frontier = solve_time_cost(network, class_of, curves);
  ASSERT_TRUE(frontier);
  EXPECT_NEAR(frontier->cost_at(most * 150), 1500, 1e-6);
  EXPECT_NEAR(frontier->cost_at(most * 300), 300, 1e-6);
}

}  // namespace
}  // namespace perjoule
