#include "pipeline/solver/time_cost_repair.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "pipeline/plan/problem.h"
#include "pipeline/solver/random_project.h"

namespace perjoule {
namespace {

class Repair : public testing::TestWithParam<std::uint64_t> {
 protected:
  /// Repairs the old optimum for the changed curves at many makespans, and compares with solving
  /// anew.
  static void check(const RandomProject& before, const RandomProject& after) {
    const ActivityNetwork network = before.network();
    const std::vector<std::uint32_t> order = *network.topological_order();
    const CurveSet old_curves = before.curves();
    const CurveSet curves = after.curves();
    const auto old_frontier = solve_time_cost(network, before.class_of, old_curves);
    const auto cold = solve_time_cost(network, after.class_of, curves);
    ASSERT_TRUE(old_frontier && cold);
    for (int i = 0; i <= 6; ++i) {
      const Ticks old_makespan =
          old_frontier->shortest() + (old_frontier->longest() - old_frontier->shortest()) * i / 6;
      const auto solved =
          solve_time_cost(network, before.class_of, old_curves, {.makespans = {old_makespan}});
      ASSERT_TRUE(solved);
      ASSERT_EQ(solved->schedules().size(), 1U);
      for (const Ticks makespan : {old_makespan, cold->shortest(), cold->longest(),
                                   (cold->shortest() + cold->longest()) / 2}) {
        const auto repaired = repair_schedule(network, order, after.class_of, curves,
                                              solved->schedules()[0], makespan);
        ASSERT_TRUE(repaired) << repaired.error().text();
        EXPECT_EQ(repaired->makespan, std::max(makespan, cold->shortest()));
        EXPECT_TRUE(is_proven_optimal(network, after.class_of, curves, *repaired));
        const double least = cold->cost_at(repaired->makespan);
        EXPECT_NEAR(cost_of(after, curves, *repaired), least, 1e-9 * (1 + std::abs(least)));
        for (std::uint32_t a = 0; a < network.size(); ++a) {
          for (const std::uint32_t next : network.successors(a))
            EXPECT_LE(repaired->end[a], repaired->start[next]);
        }
      }
    }
  }
};

TEST_P(Repair, ACurveThatIsCheaperOrDearer) {
  Random random(GetParam());
  const RandomProject before(random);
  RandomProject after = before;
  Points& changed = after.classes[random.below(after.classes.size())];
  const double factor = 0.5 + random.uniform();
  for (CostPoint& point : changed) point.cost *= factor;
  check(before, after);
}

TEST_P(Repair, ACurveThatIsLongerOrShorter) {
  Random random(1000 + GetParam());
  const RandomProject before(random);
  RandomProject after = before;
  Points& changed = after.classes[random.below(after.classes.size())];
  const double factor = 0.6 + random.uniform();
  for (CostPoint& point : changed)
    point.duration = std::max<Ticks>(1, std::llround(static_cast<double>(point.duration) * factor));
  check(before, after);
}

TEST_P(Repair, AllCurvesAnew) {
  Random random(2000 + GetParam());
  const RandomProject before(random);
  RandomProject after = before;
  for (Points& points : after.classes) points = random_points(random);
  check(before, after);
}

TEST_P(Repair, NothingChangedButTheMakespan) {
  Random random(3000 + GetParam());
  const RandomProject project(random);
  check(project, project);
}

INSTANTIATE_TEST_SUITE_P(TimeCost, Repair, testing::Range<std::uint64_t>(1, 26));

TEST(TimeCostRepair, AScheduleOfAnotherNetworkIsRefused) {
  Random random(1);
  const RandomProject one(random);
  const RandomProject other(random);
  const auto solved =
      solve_time_cost(one.network(), one.class_of, one.curves(), {.makespans = {1'000'000}});
  ASSERT_TRUE(solved);
  const CurveSet curves = other.curves();
  const ActivityNetwork network = other.network();
  const auto repaired = repair_schedule(network, *network.topological_order(), other.class_of,
                                        curves, solved->schedules()[0], 1'000'000);
  ASSERT_FALSE(repaired);
  EXPECT_EQ(repaired.error().code, ErrorCode::kInvalidArgument);
}

TEST(TimeCostRepair, WhatUpsetsTooMuchIsSolvedAnew) {
  Random random(9);
  // Stages that take turns at microbatches, each as slow as the others.
  RandomProject before(random);
  before.classes.assign(8, {{40, 90}, {45, 60}, {52, 40}, {60, 30}, {75, 24}});
  before.class_of.clear();
  before.edges.clear();
  constexpr std::uint32_t kStages = 8, kMicrobatches = 120;
  for (std::uint32_t a = 0; a < kStages * kMicrobatches; ++a) {
    before.class_of.push_back(a % kStages);
    if (a % kStages > 0) before.edges.push_back({a - 1, a});
    if (a >= kStages) before.edges.push_back({a - kStages, a});
  }
  RandomProject after = before;
  for (Points& points : after.classes) {
    for (CostPoint& point : points) point.duration += static_cast<Ticks>(random.below(6));
  }
  const ActivityNetwork network = before.network();
  const CurveSet curves = after.curves();
  const auto solved =
      solve_time_cost(network, before.class_of, before.curves(), {.makespans = {1 << 30}});
  const auto anew = solve_time_cost(network, after.class_of, curves);
  ASSERT_TRUE(solved && anew);
  bool was_anew = false;
  for (int i = 0; i < 6; ++i) {
    const Ticks makespan = anew->shortest() + (anew->longest() - anew->shortest()) * i / 5;
    RepairCounts counts;
    const auto repaired = repair_schedule(network, *network.topological_order(), after.class_of,
                                          curves, solved->schedules()[0], makespan, &counts);
    ASSERT_TRUE(repaired) << repaired.error().text();
    was_anew = was_anew || counts.anew;
    EXPECT_EQ(repaired->makespan, makespan);
    EXPECT_TRUE(is_proven_optimal(network, after.class_of, curves, *repaired));
    EXPECT_NEAR(cost_of(after, curves, *repaired), anew->cost_at(makespan), 1e-6);
  }
  EXPECT_TRUE(was_anew);
}

TEST(TimeCostRepair, AProofThatDoesNotHoldIsSeen) {
  Random random(5);
  const RandomProject project(random);
  const CurveSet curves = project.curves();
  const auto frontier = solve_time_cost(project.network(), project.class_of, curves);
  ASSERT_TRUE(frontier);
  const Ticks middle = (frontier->shortest() + frontier->longest()) / 2;
  const auto solved =
      solve_time_cost(project.network(), project.class_of, curves, {.makespans = {middle}});
  ASSERT_TRUE(solved);
  Schedule schedule = solved->schedules()[0];
  EXPECT_TRUE(is_proven_optimal(project.network(), project.class_of, curves, schedule));
  Schedule unbalanced = schedule;
  unbalanced.flow[0] += 1;
  EXPECT_FALSE(is_proven_optimal(project.network(), project.class_of, curves, unbalanced));
  schedule.end[0] -= 1000;
  EXPECT_FALSE(is_proven_optimal(project.network(), project.class_of, curves, schedule));
}

}  // namespace
}  // namespace perjoule
