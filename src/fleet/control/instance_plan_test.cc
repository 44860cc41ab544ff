#include "fleet/control/instance_plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace perjoule {
namespace {

constexpr std::size_t kSS = 0, kMM = 4, kML = 5, kLM = 7, kLL = 8;

TEST(InstancePlanTest, WholeServersStayAndTheRestGoesUp) {
  ClassLoads expected = {};
  expected[kMM] = 2500;
  expected[kLL] = 1000;
  ClassLoads per_server;
  per_server.fill(1000);
  const InstancePlan plan = plan_instances(expected, per_server, 0);
  EXPECT_EQ(plan.servers[kMM], 2);
  ASSERT_TRUE(plan.spill[kMM]);
  EXPECT_EQ(plan.spill[kMM]->to, kLL);
  EXPECT_NEAR(plan.spill[kMM]->share, 0.2, 1e-12);
  EXPECT_EQ(plan.servers[kLL], 2);
  EXPECT_NEAR(plan.filled[kLL], 1.5, 1e-12);
  EXPECT_EQ(plan.total(), 4);
}

TEST(InstancePlanTest, ItGoesToTheNextPoolThatHasLoadOfItsOwn) {
  ClassLoads expected = {};
  expected[kSS] = 100;
  expected[kML] = 950;
  expected[kLM] = 5000;
  ClassLoads per_server;
  per_server.fill(1000);
  const InstancePlan plan = plan_instances(expected, per_server, 0);
  EXPECT_EQ(plan.spill[kSS]->to, kML);
  EXPECT_EQ(plan.spill[kSS]->share, 1);
  // 0.95 + 0.1 is one server and a twentieth, and that goes to the largest, as LM is shorter.
  EXPECT_EQ(plan.servers[kML], 1);
  EXPECT_EQ(plan.spill[kML]->to, kLL);
  EXPECT_EQ(plan.servers[kLL], 1);
  EXPECT_EQ(plan.servers[kLM], 5);
}

TEST(InstancePlanTest, AClassThatNoServerCanServeInTimeGoesUpWhole) {
  ClassLoads expected = {};
  expected[kMM] = 5000;
  ClassLoads per_server = {};
  per_server[kLL] = 1000;
  const InstancePlan plan = plan_instances(expected, per_server, 0);
  EXPECT_EQ(plan.servers[kMM], 0);
  EXPECT_EQ(plan.servers[kLL], 5);
}

TEST(InstancePlanTest, WhatIsMixedIsReckonedAsMixed) {
  ClassLoads expected = {};
  expected[kMM] = 500;
  expected[kLL] = 1000;
  ClassLoads per_server;
  per_server.fill(1000);
  const InstancePlan plan = plan_instances(expected, per_server, 500);
  // Half a server's worth alone is a whole one beside others, and LL's own two.
  EXPECT_EQ(plan.spill[kMM]->to, kLL);
  EXPECT_EQ(plan.servers[kLL], 3);
  // Alone in its pool it is not.
  expected[kMM] = 0;
  EXPECT_EQ(plan_instances(expected, per_server, 500).servers[kLL], 1);
}

TEST(InstancePlanTest, ALimitTakesFromTheShortestAndSendsThemUp) {
  ClassLoads expected = {};
  expected[kSS] = 3000;
  expected[kMM] = 2000;
  expected[kLL] = 2000;
  ClassLoads per_server;
  per_server.fill(1000);
  InstancePlan plan = plan_instances(expected, per_server, 0);
  ASSERT_EQ(plan.total(), 7);
  limit_servers(plan, 3);
  EXPECT_EQ(plan.servers[kSS], 0);
  EXPECT_EQ(plan.spill[kSS]->share, 1);
  EXPECT_EQ(plan.servers[kMM], 1);
  EXPECT_EQ(plan.servers[kLL], 2);
  EXPECT_EQ(plan.spill[kMM]->to, kLL);
  EXPECT_GT(plan.filled[kLL], 2);
  limit_servers(plan, 1);
  EXPECT_EQ(plan.servers[kLL], 1);
  EXPECT_EQ(plan.total(), 1);
}

TEST(InstancePlanTest, NothingNeedsNothingAndLittleOneServer) {
  ClassLoads per_server;
  per_server.fill(1000);
  EXPECT_EQ(plan_instances({}, per_server, 0).total(), 0);
  ClassLoads little = {};
  little[kSS] = 0.001;
  EXPECT_EQ(plan_instances(little, per_server, 0).total(), 1);
}

/// The servers carry the load, and at most one is not full.
RC_GTEST_PROP(InstancePlanTest, NoMoreThanOneServerIsNotFull, ()) {
  ClassLoads expected;
  ClassLoads per_server;
  double need = 0;
  for (std::size_t i = 0; i < kLoadClasses; ++i) {
    expected[i] = *rc::gen::inRange(0, 100'000) / 10.0;
    per_server[i] = *rc::gen::inRange(500, 10'000);
    need += expected[i] / per_server[i];
  }
  const InstancePlan plan = plan_instances(expected, per_server, 0);
  RC_ASSERT(plan.total() >= need - 0.01 * kLoadClasses);
  RC_ASSERT(plan.total() <= std::ceil(need) + 1);
  for (std::size_t i = 0; i < kLoadClasses; ++i) {
    if (!plan.spill[i]) continue;
    RC_ASSERT(dominates(static_cast<LoadClass>(plan.spill[i]->to), static_cast<LoadClass>(i)));
    RC_ASSERT(plan.spill[i]->share > 0 && plan.spill[i]->share <= 1);
  }
}

}  // namespace
}  // namespace perjoule
