#include "fleet/hands/fleet_servers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace perjoule {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using State = FleetServerState;

/// Two GPUs: one instance over both, or one on each.
FleetServer server_named(const std::string& name, std::size_t pool = 0) {
  FleetServer server;
  server.name = name;
  server.pool = pool;
  server.pool_name = "mixed";
  server.instances = {{name + "-a", {"0"}, 1, 1, 0},
                      {name + "-b", {"1"}, 1, 2, 0},
                      {name + "-both", {"0", "1"}, 2, 3, 1}};
  server.division = {0, 1};
  return server;
}

FleetServers fleet_of(std::vector<FleetServer> servers, std::size_t pools = 1) {
  FleetServers::Limits limits;
  limits.pools = pools;
  limits.layouts = 2;
  limits.highest_clock = 3;
  limits.drain = Seconds(30);
  limits.start_within = Seconds(100);
  return FleetServers(std::move(servers), limits);
}

InstanceReading tokens(double count, double seconds = 5) {
  InstanceReading reading;
  reading.is_reachable = true;
  reading.since_last = Seconds(seconds);
  reading.prompt_tokens = count;
  return reading;
}
InstanceReading silent() {
  InstanceReading reading;
  reading.failure = "connection refused";
  return reading;
}
std::vector<std::vector<InstanceReading>> of_all(std::size_t servers, const InstanceReading& one) {
  return std::vector<std::vector<InstanceReading>>(servers, {one, one, silent()});
}

TEST(FleetServers, ShowTheLoadThatWasThereBeforeThem) {
  FleetServers servers = fleet_of({server_named("n")});
  InstanceReading first = tokens(0, 0);
  first.prompt_tokens.reset();
  EXPECT_TRUE(servers.read(Seconds(0), of_all(1, first)).empty());
  EXPECT_FALSE(servers.is_known());
  servers.read(Seconds(5), of_all(1, tokens(500)));
  ASSERT_TRUE(servers.is_known());
  const FleetView view = servers.view(Seconds(5));
  ASSERT_THAT(view.pools, SizeIs(1));
  EXPECT_NEAR(view.pools[0].load, 200, 1e-3);
  EXPECT_NEAR(view.pools[0].recent_peak, 200, 1e-3);
  EXPECT_EQ(view.pools[0].caution, 1);
  ASSERT_THAT(view.pools[0].servers, SizeIs(1));
  EXPECT_TRUE(view.pools[0].servers[0].serves);
  EXPECT_THAT(view.pools[0].servers[0].shards, ElementsAre(2, 0));
  ASSERT_THAT(view.pools[0].servers[0].instances, SizeIs(2));
  EXPECT_EQ(view.pools[0].servers[0].instances[1].id, 1u);
  EXPECT_EQ(view.pools[0].servers[0].instances[1].clock, 3u);
}

TEST(FleetServers, CountWhatCameToWaitAmongTheLoad) {
  FleetServers servers = fleet_of({server_named("n")});
  InstanceReading reading = tokens(0, 0);
  reading.prompt_tokens.reset();
  servers.read(Seconds(0), of_all(1, reading));
  reading = tokens(500);
  reading.waiting = 4;
  reading.running = 2;
  reading.mean_prompt = 250;
  servers.read(Seconds(5), of_all(1, reading));
  const PoolView pool = servers.view(Seconds(5)).pools[0];
  EXPECT_NEAR(pool.load, 2 * (500 + 1000) / 5.0, 1e-3);
  EXPECT_EQ(pool.servers[0].running, 12);
  EXPECT_EQ(pool.servers[0].instances[0].waiting_tokens, 1000);
}

TEST(FleetServers, TakeARestartToGoOnAsBefore) {
  FleetServers servers = fleet_of({server_named("n")});
  servers.read(Seconds(0), of_all(1, tokens(0, 0)));
  servers.read(Seconds(5), of_all(1, tokens(500)));
  InstanceReading restarted = tokens(0);
  restarted.prompt_tokens.reset();
  restarted.was_restarted = true;
  const auto news = servers.read(Seconds(10), of_all(1, restarted));
  ASSERT_THAT(news, SizeIs(2));
  EXPECT_EQ(news[0].subject, "n-a");
  EXPECT_THAT(news[0].text, HasSubstr("restarted"));
  EXPECT_NEAR(servers.view(Seconds(10)).pools[0].load, 200, 1e-3);
}

TEST(FleetServers, LeaveOutWhatCannotBeReached) {
  FleetServers servers = fleet_of({server_named("n"), server_named("m")});
  servers.read(Seconds(0), of_all(2, tokens(0, 0)));
  servers.read(Seconds(5), of_all(2, tokens(500)));
  auto readings = of_all(2, tokens(500));
  readings[0][1] = silent();
  EXPECT_TRUE(servers.read(Seconds(10), readings).empty());
  EXPECT_TRUE(servers.read(Seconds(15), readings).empty());
  EXPECT_THAT(servers.view(Seconds(15)).pools[0].servers[0].instances, SizeIs(2));
  const auto news = servers.read(Seconds(20), readings);
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(news[0].subject, "n-b");
  EXPECT_THAT(news[0].text, HasSubstr("connection refused"));
  EXPECT_TRUE(news[0].is_trouble);
  EXPECT_TRUE(servers.read(Seconds(25), readings).empty());  // told once
  FleetView view = servers.view(Seconds(25));
  EXPECT_THAT(view.pools[0].servers[0].instances, SizeIs(1));
  EXPECT_THAT(view.pools[0].servers[0].shards, ElementsAre(1, 0));
  // A server of which nothing is left is not there.
  readings[0][0] = silent();
  for (int i = 6; i < 9; ++i) servers.read(Seconds(5.0 * i), readings);
  view = servers.view(Seconds(40));
  ASSERT_THAT(view.pools[0].servers, SizeIs(1));
  EXPECT_EQ(view.pools[0].servers[0].id, 1u);
  EXPECT_EQ(servers.to_stop(0), 1u);
  // It is back with the first look that reaches it.
  const auto back = servers.read(Seconds(45), of_all(2, tokens(500)));
  ASSERT_THAT(back, SizeIs(2));
  EXPECT_THAT(back[0].text, HasSubstr("again"));
  EXPECT_THAT(servers.view(Seconds(45)).pools[0].servers, SizeIs(2));
}

TEST(FleetServers, BecomeCautiousWhereFirstTokensAreLate) {
  FleetServers servers = fleet_of({server_named("n", 4)}, kLoadClasses);
  servers.read(Seconds(0), of_all(1, tokens(0, 0)));
  InstanceReading reading = tokens(500);
  // MM has 400 ms: of these 100 three quarters of the first bucket's are in time.
  reading.first_tokens = {{Seconds(0.5), 50},
                          {Seconds(1), 100},
                          {Seconds(std::numeric_limits<double>::infinity()), 100}};
  EXPECT_NEAR(first_tokens_within(reading.first_tokens, Seconds(0.4)), 40, 1e-9);
  EXPECT_NEAR(first_tokens_within(reading.first_tokens, Seconds(5)), 100, 1e-9);
  for (int i = 1; i < 4; ++i) servers.read(Seconds(5.0 * i), of_all(1, reading));
  EXPECT_GT(servers.view(Seconds(15)).pools[4].caution, 1.1);
  EXPECT_EQ(servers.view(Seconds(15)).pools[3].caution, 1);
}

TEST(FleetServers, ServeOnceAllOfTheirInstancesAnswer) {
  FleetServer off = server_named("n");
  off.is_on = false;
  FleetServers servers = fleet_of({off});
  servers.read(Seconds(0), of_all(1, silent()));
  EXPECT_TRUE(servers.view(Seconds(0)).pools[0].servers.empty());
  EXPECT_EQ(servers.to_start(0), 0u);
  servers.set(0, State::kStarting, Seconds(5));
  EXPECT_FALSE(servers.to_start(0));
  EXPECT_TRUE(servers.view(Seconds(5)).pools[0].servers[0].starts);
  auto half = of_all(1, silent());
  half[0][0] = tokens(0, 0);
  servers.read(Seconds(10), half);
  EXPECT_EQ(servers.state(0), State::kStarting);
  const auto news = servers.read(Seconds(15), of_all(1, tokens(0, 0)));
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(news[0].text, "serves");
  EXPECT_TRUE(servers.view(Seconds(15)).pools[0].servers[0].serves);
}

TEST(FleetServers, AreOffWhereTheyDoNotComeUp) {
  FleetServer off = server_named("n");
  FleetServer other = server_named("m");
  off.is_on = other.is_on = false;
  FleetServers servers = fleet_of({off, other});
  servers.set(0, State::kStarting, Seconds(0));
  servers.read(Seconds(100), of_all(2, silent()));
  EXPECT_EQ(servers.state(0), State::kStarting);
  const auto news = servers.read(Seconds(101), of_all(2, silent()));
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_THAT(news[0].text, HasSubstr("does not answer"));
  EXPECT_EQ(servers.state(0), State::kOff);
  EXPECT_EQ(servers.to_start(0), 1u);  // another one is tried first
}

TEST(FleetServers, TakeWhatSomebodyElseStartedToServe) {
  FleetServer off = server_named("n");
  off.is_on = false;
  FleetServers servers = fleet_of({off});
  EXPECT_THAT(servers.read(Seconds(0), of_all(1, tokens(0, 0))), SizeIs(1));
  EXPECT_EQ(servers.state(0), State::kServing);
  // One that was stopped may answer for a moment still.
  servers.set(0, State::kOff, Seconds(5));
  EXPECT_TRUE(servers.read(Seconds(10), of_all(1, tokens(0))).empty());
  EXPECT_EQ(servers.state(0), State::kOff);
  servers.read(Seconds(15), of_all(1, silent()));
  EXPECT_THAT(servers.read(Seconds(20), of_all(1, tokens(0))), SizeIs(1));
  EXPECT_EQ(servers.state(0), State::kServing);
}

TEST(FleetServers, DrainUntilNothingRunsOrTheTimeIsOver) {
  FleetServers servers = fleet_of({server_named("n")});
  InstanceReading busy = tokens(10);
  busy.running = 1;
  servers.read(Seconds(0), of_all(1, busy));
  servers.set(0, State::kDraining, Seconds(0));
  EXPECT_TRUE(servers.view(Seconds(0)).pools[0].servers[0].stops);
  EXPECT_FALSE(servers.has_drained(0, Seconds(29)));
  EXPECT_TRUE(servers.has_drained(0, Seconds(30)));
  servers.read(Seconds(5), of_all(1, tokens(0)));
  EXPECT_TRUE(servers.has_drained(0, Seconds(5)));
  servers.set_next_division(0, {2});
  EXPECT_TRUE(servers.view(Seconds(5)).pools[0].servers[0].reshards);
  servers.set(0, State::kResharding, Seconds(5));
  servers.take_next_division(0);
  auto whole = of_all(1, silent());
  EXPECT_TRUE(servers.read(Seconds(6), whole).empty());
  whole[0][2] = tokens(0, 0);
  servers.read(Seconds(7), whole);
  EXPECT_EQ(servers.state(0), State::kServing);
  EXPECT_THAT(servers.view(Seconds(7)).pools[0].servers[0].shards, ElementsAre(0, 1));
}

TEST(FleetServers, FindInstancesThatShareNoGpu) {
  FleetServer server;
  server.name = "n";
  // The first in its order that fits, also where an earlier choice has to be taken back.
  server.instances = {{"a", {"1"}, 1, 1, 0},
                      {"b", {"2"}, 1, 2, 0},
                      {"c", {"0"}, 1, 3, 0},
                      {"d", {"1", "2"}, 2, 4, 1},
                      {"e", {"2", "3"}, 2, 5, 1}};
  server.division = {3};
  const FleetServers servers = fleet_of({server});
  EXPECT_EQ(servers.division_of(0, {0, 1}), (Division{3}));  // as it is
  EXPECT_EQ(servers.division_of(0, {1, 1}), (Division{0, 4}));
  EXPECT_EQ(servers.division_of(0, {2, 1}), (Division{0, 2, 4}));
  EXPECT_EQ(servers.division_of(0, {3, 0}), (Division{0, 1, 2}));
  EXPECT_FALSE(servers.division_of(0, {3, 1}));
  EXPECT_FALSE(servers.division_of(0, {0, 2}));
}

}  // namespace
}  // namespace perjoule
