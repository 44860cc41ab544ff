#include "fleet/control/fleet_controller.h"

#include "fleet/control/pool_load.h"
#include "fleet/simulate/test_fleet.h"

namespace perjoule {
namespace {

ControllerSetup setup_of(const TestFleet& fleet) {
  ControllerSetup setup;
  setup.capacity = &fleet.capacity;
  setup.idle_gpu = Watts(75);
  setup.forecast = fleet.forecast.get();
  setup.peak = fleet.setup.peak;
  setup.peak_of_all = fleet.setup.peak_of_all;
  setup.transitions.start = Seconds(60);
  return setup;
}

/// A server over all of whose GPUs one instance runs.
ServerView whole(std::uint32_t id, double waiting = 0) {
  ServerView server;
  server.id = id;
  server.serves = true;
  server.shards = {0, 0, 1};
  server.instances = {{0, 2, 1, waiting}};
  return server;
}

FleetView one_pool(double load, std::vector<ServerView> servers) {
  FleetView view;
  view.now = Seconds(5);
  view.pools.push_back({load, load, 1, std::move(servers)});
  return view;
}

FleetPolicy single(const char* name) {
  FleetPolicy policy = policy_named(name).value();
  policy.has_pools = false;
  policy.least_attainment = 0.9;
  return policy;
}

TEST(FleetControllerTest, ClocksFollowTheLoadAndTheQueue) {
  const TestFleet fleet(10);
  FleetController controller(single("scale-freq"), setup_of(fleet));
  const auto clocks = [&](double load, double waiting) {
    const auto orders = controller.decide(one_pool(load, {whole(0, waiting), whole(1, waiting)}));
    EXPECT_TRUE(orders) << orders.error().text();
    EXPECT_TRUE(orders->servers.empty() && orders->shards.empty());
    return orders->clocks.size();
  };
  // They run at the highest; a light load sends both down, a heavy one leaves them.
  EXPECT_EQ(clocks(500, 0), 2U);
  EXPECT_EQ(clocks(1e6, 0), 0U);
  EXPECT_EQ(clocks(500, 1e6), 0U);
}

TEST(FleetControllerTest, ServersAreStartedAheadAndStoppedWhenThePeriodBegins) {
  const TestFleet fleet(30);
  FleetPolicy policy = single("scale-inst");
  policy.instance_period = Seconds(300);
  FleetController controller(policy, setup_of(fleet));
  FleetView view = one_pool(1000, {whole(0)});
  const auto ordered = [&](double now) {
    view.now = Seconds(now);
    const auto orders = controller.decide(view);
    EXPECT_TRUE(orders) << orders.error().text();
    return orders->servers;
  };
  EXPECT_TRUE(ordered(5).empty());
  // A minute before the period begins, to be ready then.
  const auto more = ordered(240);
  ASSERT_EQ(more.size(), 1U);
  EXPECT_GT(more[0].more, 0);
  EXPECT_EQ(more[0].ready_at, Seconds(300));
  // Too many are not stopped before it.
  view.pools[0].servers.clear();
  for (std::uint32_t i = 0; i < 40; ++i) view.pools[0].servers.push_back(whole(i));
  EXPECT_TRUE(ordered(540).empty());
  const auto fewer = ordered(600);
  ASSERT_EQ(fewer.size(), 1U);
  EXPECT_LT(fewer[0].more, 0);
}

TEST(FleetControllerTest, WhatThePresentPeriodTakesMayBeStartedAtOnce) {
  const TestFleet fleet(30);
  FleetPolicy policy = single("scale-inst");
  policy.instance_period = Seconds(300);
  FleetController controller(policy, setup_of(fleet));
  EXPECT_FALSE(controller.expected(0));
  EXPECT_TRUE(controller.decide(one_pool(1, {whole(0)}))->servers.empty());
  controller.expect(Seconds(0));
  const auto orders = controller.decide(one_pool(1, {whole(0)}));
  ASSERT_EQ(orders->servers.size(), 1U);
  EXPECT_GT(orders->servers[0].more, 0);
  ASSERT_TRUE(controller.expected(0));
  EXPECT_NEAR(controller.expected(0)->load, fleet.setup.peak_of_all, 1e-6);
  EXPECT_EQ(controller.expected(0)->basis, ForecastBasis::kKnown);
  EXPECT_FALSE(controller.expected(1));
}

TEST(FleetControllerTest, OneServerChangesItsShardsAtATimeAndOnlyWhereItPays) {
  const TestFleet fleet(10);
  FleetPolicy policy = single("scale-shard");
  policy.shard_period = Seconds(300);
  FleetController controller(policy, setup_of(fleet));
  FleetView view = one_pool(600, {whole(0), whole(1), whole(2)});
  const auto ordered = [&](double now) {
    view.now = Seconds(now);
    const auto orders = controller.decide(view);
    EXPECT_TRUE(orders) << orders.error().text();
    return orders->shards;
  };
  EXPECT_TRUE(ordered(5).empty());  // not at its time
  const auto change = ordered(300);
  ASSERT_EQ(change.size(), 1U);
  EXPECT_NE(change[0].shards, (ServerShards{0, 0, 1}));
  view.pools[0].servers[1].serves = false;
  view.pools[0].servers[1].reshards = true;
  EXPECT_TRUE(ordered(600).empty());  // one is at it
  // Where what is there carries too little, at once.
  view.pools[0].servers[1] = whole(1);
  view.pools[0].recent_peak = 3 * controller.carries(0, 2, 1) + 1;
  EXPECT_EQ(ordered(605).size(), 1U);
  // A change that takes more than it saves is none.
  ControllerSetup slow = setup_of(fleet);
  slow.transitions.drain = Seconds(1e6);
  FleetController reluctant(policy, slow);
  view.pools[0].recent_peak = 600;
  view.now = Seconds(300);
  EXPECT_TRUE(reluctant.decide(view)->shards.empty());
}

TEST(FleetControllerTest, TheBeginningHasNoMoreServersThanThereAre) {
  const TestFleet fleet(100);
  ControllerSetup setup = setup_of(fleet);
  setup.most_servers = 3;
  for (const FleetPolicy& policy : fleet_policies()) {
    FleetController controller(policy, setup);
    const auto beginning = controller.begin();
    ASSERT_TRUE(beginning) << beginning.error().text();
    std::size_t servers = 0;
    for (const auto& pool : beginning->servers) servers += pool.size();
    EXPECT_EQ(servers, 3U) << policy.name;
  }
}

TEST(PoolLoadTest, FollowsWhatComesAndRemembersItsPeak) {
  PoolLoad load;
  for (int i = 0; i < 60; ++i) {
    load.arrived(5000);
    load.close_window(Seconds(5), 0.95);
  }
  EXPECT_NEAR(load.rate(), 1000, 1);
  for (int i = 0; i < 12; ++i) load.close_window(Seconds(5), 0.95);
  EXPECT_LT(load.rate(), 150);
  EXPECT_GT(load.recent_peak(), 800);
}

TEST(PoolLoadTest, IsCautiousWhileRequestsAreLate) {
  PoolLoad load;
  for (int i = 0; i < 50; ++i) {
    for (int k = 0; k < 10; ++k) load.ended(k > 2);
    load.close_window(Seconds(5), 0.95);
  }
  EXPECT_EQ(load.caution(), 3);
  for (int i = 0; i < 100; ++i) {
    for (int k = 0; k < 10; ++k) load.ended(true);
    load.close_window(Seconds(5), 0.95);
  }
  EXPECT_EQ(load.caution(), 1);
  // A few say nothing.
  PoolLoad few;
  few.ended(false);
  few.close_window(Seconds(5), 0.95);
  EXPECT_EQ(few.caution(), 1);
}

}  // namespace
}  // namespace perjoule
