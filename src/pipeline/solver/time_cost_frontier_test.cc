#include "pipeline/solver/time_cost_frontier.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

#include "pipeline/solver/linear_program.h"

namespace perjoule {
namespace {

/// Activities with a curve each.
struct Project {
  CurveSet curves;
  std::vector<std::uint32_t> curve_of;
  std::vector<Precedence> edges;

  void add(const std::vector<CostPoint>& points) {
    curve_of.push_back(curves.add(falling_hull(points), 1));
  }
  ActivityNetwork network() const {
    return ActivityNetwork(static_cast<std::uint32_t>(curve_of.size()), edges);
  }
};

double cost_of(const Project& project, const Schedule& schedule) {
  double cost = 0;
  for (std::uint32_t a = 0; a < project.curve_of.size(); ++a) {
    cost += project.curves.cost(project.curve_of[a], schedule.end[a] - schedule.start[a]);
  }
  return cost;
}

TEST(TimeCostFrontier, TheTextbookChain) {
  // Two activities one behind the other: the one that is cheaper to shorten goes first.
  Project project;
  project.add({{10, 8}, {20, 3}});           // 0.5 a tick
  project.add({{10, 9}, {15, 7}, {20, 6}});  // 0.2, then 0.4
  project.edges = {{0, 1}};
  ASSERT_TRUE(project.curves.seal());
  const auto frontier =
      solve_time_cost(project.network(), project.curve_of, project.curves, {.makespans = {32}});
  ASSERT_TRUE(frontier) << frontier.error().text();
  EXPECT_EQ(frontier->longest(), 40);
  EXPECT_EQ(frontier->shortest(), 20);
  EXPECT_NEAR(frontier->cost_at(40), 9, 1e-12);
  EXPECT_NEAR(frontier->cost_at(35), 10, 1e-12);
  EXPECT_NEAR(frontier->cost_at(30), 12, 1e-12);
  EXPECT_NEAR(frontier->cost_at(20), 17, 1e-12);
  EXPECT_NEAR(frontier->cost_at(25), 14.5, 1e-12);
  EXPECT_NEAR(frontier->cost_at(1000), 9, 1e-12);
  ASSERT_EQ(frontier->corners().size(), 4U);
  ASSERT_EQ(frontier->schedules().size(), 1U);
  EXPECT_EQ(frontier->schedules()[0].makespan, 32);
  EXPECT_NEAR(cost_of(project, frontier->schedules()[0]), 11.2, 1e-12);
}

TEST(TimeCostFrontier, ParallelBranchesShortenTogetherAndLengthenAgain) {
  // Fulkerson's case: on a bridge network a step may make one activity longer again.
  Project project;
  for (int i = 0; i < 5; ++i) project.add({{5, 10.0 + i}, {10, 2}, {15, 1}});
  project.edges = {{0, 2}, {0, 3}, {1, 3}, {1, 4}};
  ASSERT_TRUE(project.curves.seal());
  const auto frontier = solve_time_cost(project.network(), project.curve_of, project.curves);
  ASSERT_TRUE(frontier);
  for (Ticks t = frontier->shortest(); t <= frontier->longest(); ++t) {
    const auto least = least_cost_by_lp(project.network(), project.curve_of, project.curves, t);
    ASSERT_TRUE(least);
    EXPECT_NEAR(frontier->cost_at(t), *least, 1e-9) << t;
  }
}

TEST(TimeCostFrontier, WhatCannotBeShortenedEndsIt) {
  Project project;
  project.add({{7, 1}});
  project.add({{5, 4}, {9, 2}});
  ASSERT_TRUE(project.curves.seal());
  const auto frontier = solve_time_cost(project.network(), project.curve_of, project.curves);
  ASSERT_TRUE(frontier);
  EXPECT_EQ(frontier->longest(), 9);
  EXPECT_EQ(frontier->shortest(), 7);
  EXPECT_NEAR(frontier->cost_at(7), 4, 1e-12);
}

TEST(TimeCostFrontier, ACircleIsAnErrorAndNoHang) {
  Project project;
  project.add({{7, 1}});
  project.add({{5, 4}, {9, 2}});
  project.edges = {{0, 1}, {1, 0}};
  ASSERT_TRUE(project.curves.seal());
  const auto frontier = solve_time_cost(project.network(), project.curve_of, project.curves);
  ASSERT_FALSE(frontier);
  EXPECT_EQ(frontier.error().code, ErrorCode::kInvalidArgument);
}

TEST(TimeCostFrontier, TheMakespanOfAFlowIsWhereItIsFirstReached) {
  Project project;
  project.add({{10, 8}, {20, 3}, {30, 1}});  // 0.2, then 0.5
  ASSERT_TRUE(project.curves.seal());
  const auto units = static_cast<std::int64_t>(0.3 / project.curves.unit());
  const auto frontier = solve_time_cost(project.network(), project.curve_of, project.curves,
                                        {.makespans = {}, .flow = units});
  ASSERT_TRUE(frontier);
  ASSERT_EQ(frontier->schedules().size(), 1U);
  EXPECT_EQ(frontier->schedules()[0].makespan, 20);
}

/// Random projects: layered, with activities of one option, negative costs and equal curves.
Project random_project() {
  Project project;
  const int count = *rc::gen::inRange(1, 14);
  const bool alike = *rc::gen::arbitrary<bool>();
  std::vector<CostPoint> shared;
  for (int a = 0; a < count; ++a) {
    std::vector<CostPoint> points;
    if (alike && !shared.empty() && *rc::gen::arbitrary<bool>()) {
      points = shared;
    } else {
      const int options = *rc::gen::inRange(1, 6);
      for (int i = 0; i < options; ++i) {
        points.push_back({*rc::gen::inRange<Ticks>(1, 60), *rc::gen::inRange(-200, 1000) * 0.01});
      }
      shared = points;
    }
    project.add(points);
    for (int b = 0; b < a; ++b) {
      if (*rc::gen::inRange(0, 4) == 0) {
        project.edges.push_back({static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(a)});
      }
    }
  }
  return project;
}

RC_GTEST_PROP(TimeCostFrontier, AgreesWithLinearProgrammingOnRandomProjects, ()) {
  Project project = random_project();
  RC_ASSERT(project.curves.seal());
  const ActivityNetwork network = project.network();
  ScheduleTimes wanted;
  for (Ticks t = 0; t < 400; t += 7) wanted.makespans.push_back(t);
  const auto frontier = solve_time_cost(network, project.curve_of, project.curves, wanted);
  RC_ASSERT(frontier);
  const auto order = *network.topological_order();
  double above = -1e300;
  for (const Schedule& schedule : frontier->schedules()) {
    // The schedule keeps precedence and time, and has the frontier's cost; LP knows none cheaper.
    RC_ASSERT(schedule.makespan >= frontier->shortest());
    for (std::uint32_t a = 0; a < network.size(); ++a) {
      RC_ASSERT(schedule.start[a] >= 0);
      RC_ASSERT(schedule.end[a] <= schedule.makespan);
      RC_ASSERT(schedule.end[a] - schedule.start[a] >=
                project.curves.durations(project.curve_of[a]).front());
      for (const std::uint32_t after : network.successors(a)) {
        RC_ASSERT(schedule.start[after] >= schedule.end[a]);
      }
    }
    const double cost = frontier->cost_at(schedule.makespan);
    RC_ASSERT(std::abs(cost_of(project, schedule) - cost) < 1e-9);
    RC_ASSERT(cost >= above - 1e-12);  // longest first: less time never costs less
    above = cost;
    const auto least =
        least_cost_by_lp(network, project.curve_of, project.curves, schedule.makespan);
    RC_ASSERT(least.has_value());
    RC_ASSERT(std::abs(*least - cost) < 1e-7);
  }
  RC_ASSERT(!least_cost_by_lp(network, project.curve_of, project.curves, frontier->shortest() - 1)
                 .has_value());
}

RC_GTEST_PROP(TimeCostFrontier, MoreOptionsNeverCostMore, ()) {
  Project project = random_project();
  Project richer = project;
  richer.curves = CurveSet();
  for (std::uint32_t a = 0; a < project.curve_of.size(); ++a) {
    std::vector<CostPoint> points;
    RC_ASSERT(a < project.curves.size());
    for (const Ticks d : project.curves.durations(a))
      points.push_back({d, project.curves.cost(a, d)});
    points.push_back({*rc::gen::inRange<Ticks>(1, 60), *rc::gen::inRange(-200, 1000) * 0.01});
    richer.curves.add(falling_hull(points), 1);
  }
  RC_ASSERT(project.curves.seal());
  RC_ASSERT(richer.curves.seal());
  const auto poor = solve_time_cost(project.network(), project.curve_of, project.curves);
  const auto rich = solve_time_cost(richer.network(), richer.curve_of, richer.curves);
  RC_ASSERT(poor && rich);
  for (Ticks t = poor->shortest(); t <= std::max(poor->longest(), rich->longest()); ++t) {
    RC_ASSERT(rich->cost_at(t) <= poor->cost_at(t) + 1e-9);
  }
}

}  // namespace
}  // namespace perjoule
