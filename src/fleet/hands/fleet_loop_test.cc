#include "fleet/hands/fleet_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace perjoule {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = FleetEvent::Kind;
using How = FleetEvent::Result;
using State = FleetServerState;

/// Hands that do as they are told, when they are told to have done it.
class FakeHands final : public FleetHands {
 public:
  bool acts() const override { return !is_dry; }
  Result<std::string> set_clock(std::size_t server, std::size_t instance,
                                double clock_mhz) override {
    if (clocks_fail) return Error::permission_denied("no right to set clocks");
    clocks[{server, instance}] = clock_mhz;
    return std::to_string(static_cast<int>(clock_mhz)) + " MHz";
  }
  Outcome begin(ServerDeed deed, std::size_t server, const Division&,
                const Division& wanted) override {
    begun.push_back(std::string(name_of(deed)) + " " + std::to_string(server));
    divisions.push_back(wanted);
    running.push_back({deed, server, {}});
    return {};
  }
  std::vector<EndedDeed> ended() override {
    std::vector<EndedDeed> all = std::move(running);
    running.clear();
    for (EndedDeed& one : all) {
      if (deeds_fail == name_of(one.deed)) one.outcome = Error::unavailable("status 3");
    }
    return all;
  }
  Outcome restore_clocks() override {
    clocks.clear();
    return {};
  }

  bool is_dry = false;
  bool clocks_fail = false;
  std::string deeds_fail;
  std::map<std::pair<std::size_t, std::size_t>, double> clocks;
  std::vector<std::string> begun;
  std::vector<Division> divisions;
  std::vector<EndedDeed> running;
};

FleetServer server_named(const std::string& name, bool is_on) {
  FleetServer server;
  server.name = name;
  server.pool_name = "mixed";
  server.instances = {{name + "-a", {"0"}, 1, 1, 0},
                      {name + "-b", {"1"}, 1, 2, 0},
                      {name + "-both", {"0", "1"}, 2, 3, 1}};
  server.division = {0, 1};
  server.is_on = is_on;
  return server;
}

class FleetLoopTest : public ::testing::Test {
 protected:
  FleetLoopTest() {
    mind_.clocks_mhz = {1000, 2000};
    mind_.carries = [](std::size_t, std::size_t layout, std::size_t clock) {
      return 100.0 * static_cast<double>((layout + 1) * (clock + 1));
    };
    mind_.decide = [this](const FleetView& view) -> Result<FleetOrders> {
      seen_ = view;
      return std::exchange(orders_, {});
    };
  }

  void make() {
    FleetServers::Limits limits;
    limits.layouts = 2;
    limits.highest_clock = 1;
    limits.drain = Seconds(20);
    servers_ = std::make_unique<FleetServers>(
        std::vector<FleetServer>{server_named("n", true), server_named("m", false)}, limits);
    loop_ = std::make_unique<FleetLoop>(*servers_, mind_, hands_, true);
    step();
    step();
  }

  /// A period of 5 s; what runs answers and has `requests_` at it.
  std::vector<FleetEvent> step() {
    std::vector<std::vector<InstanceReading>> readings;
    for (std::size_t s = 0; s < servers_->size(); ++s) {
      auto& of_server = readings.emplace_back();
      for (std::size_t i = 0; i < 3; ++i) {
        InstanceReading& one = of_server.emplace_back();
        const Division& division = servers_->division(s);
        const State state = servers_->state(s);
        const bool runs = state != State::kOff && state != State::kStopping &&
                          std::find(division.begin(), division.end(), i) != division.end();
        one.is_reachable = runs && !(state == State::kStarting && is_slow_);
        one.since_last = Seconds(5);
        one.prompt_tokens = 250;
        one.running = requests_;
      }
    }
    now_ += Seconds(5);
    return loop_->step(now_, readings);
  }

  static std::vector<std::string> texts(const std::vector<FleetEvent>& events) {
    std::vector<std::string> all;
    for (const FleetEvent& one : events)
      all.push_back(std::string(name_of(one.kind)) + " " + one.subject + " " +
                    std::string(name_of(one.result)));
    return all;
  }

  FleetMind mind_;
  FakeHands hands_;
  FleetOrders orders_;
  FleetView seen_;
  std::unique_ptr<FleetServers> servers_;
  std::unique_ptr<FleetLoop> loop_;
  Seconds now_ = Seconds(-5);
  double requests_ = 0;
  bool is_slow_ = false;
};

TEST_F(FleetLoopTest, SetsClocksAndSaysWhy) {
  mind_.expects = [](std::size_t) { return ExpectedLoad{700, ForecastBasis::kHistory}; };
  make();
  orders_.clocks = {{0, 0, 1, 0}};
  const auto events = step();
  ASSERT_THAT(texts(events), ElementsAre("clock n-b done"));
  EXPECT_EQ(events[0].text, "2000 MHz -> 1000 MHz");
  ASSERT_TRUE(events[0].why);
  EXPECT_NEAR(events[0].why->load, 100, 1e-6);
  EXPECT_EQ(events[0].why->carried, 400);
  ASSERT_TRUE(events[0].why->expected);
  EXPECT_EQ(events[0].why->expected->load, 700);
  EXPECT_EQ((hands_.clocks[{0, 1}]), 1000);
  step();
  EXPECT_EQ(seen_.pools[0].servers[0].instances[1].clock, 0u);
}

TEST_F(FleetLoopTest, KeepsAClockThatCouldNotBeSetAsItWas) {
  make();
  hands_.clocks_fail = true;
  orders_.clocks = {{0, 0, 0, 0}};
  const auto events = step();
  ASSERT_THAT(texts(events), ElementsAre("clock n-a failed"));
  EXPECT_THAT(events[0].failure, HasSubstr("no right"));
  step();
  // So that the controller asks again.
  EXPECT_EQ(seen_.pools[0].servers[0].instances[0].clock, 1u);
}

TEST_F(FleetLoopTest, GoesOnWhereNothingCanBeDecided) {
  make();
  mind_.decide = [](const FleetView&) -> Result<FleetOrders> {
    return Error::internal("the solver failed");
  };
  const auto events = step();
  ASSERT_THAT(texts(events), ElementsAre("note controller "));
  EXPECT_TRUE(events[0].is_trouble);
}

TEST_F(FleetLoopTest, StartsAServerAndWaitsUntilItServes) {
  make();
  is_slow_ = true;
  orders_.servers = {{0, 1, now_}};
  EXPECT_THAT(texts(step()), ElementsAre("start m begun"));
  EXPECT_THAT(texts(step()), ElementsAre("start m done"));
  EXPECT_TRUE(seen_.pools[0].servers[1].starts);
  is_slow_ = false;
  EXPECT_THAT(texts(step()), ElementsAre("note m "));
  EXPECT_EQ(servers_->state(1), State::kServing);
  // There is no other one; of two orders for one view the last stands.
  orders_.servers = {{0, 1, now_}, {0, 1, now_}};
  const auto events = step();
  EXPECT_THAT(texts(events), ElementsAre("start pool mixed failed"));
  EXPECT_THAT(hands_.begun, ElementsAre("start 1"));
}

TEST_F(FleetLoopTest, TriesAStartAgainThatFailed) {
  make();
  hands_.deeds_fail = "start";
  orders_.servers = {{0, 1, now_}};
  step();
  EXPECT_THAT(texts(step()), ElementsAre("start m failed", "start m begun"));
  hands_.deeds_fail.clear();
  step();
  EXPECT_EQ(servers_->state(1), State::kServing);
  EXPECT_THAT(hands_.begun, ElementsAre("start 1", "start 1"));
}

TEST_F(FleetLoopTest, StopsAServerOnceItHasDrained) {
  make();
  requests_ = 3;
  step();
  orders_.servers = {{0, -1, now_}};
  EXPECT_THAT(texts(step()), ElementsAre("stop n begun"));
  step();
  EXPECT_TRUE(seen_.pools[0].servers[0].stops);
  EXPECT_EQ(seen_.pools[0].servers[0].running, 6);
  EXPECT_THAT(hands_.begun, ElementsAre("drain 0"));
  requests_ = 0;
  step();
  EXPECT_THAT(hands_.begun, ElementsAre("drain 0", "stop 0"));
  hands_.deeds_fail = "stop";
  EXPECT_THAT(texts(step()), ElementsAre("stop n failed"));  // and is tried again
  hands_.deeds_fail.clear();
  EXPECT_THAT(texts(step()), ElementsAre("stop n done"));
  EXPECT_EQ(servers_->state(0), State::kOff);
  EXPECT_TRUE(seen_.pools[0].servers.empty());
}

TEST_F(FleetLoopTest, DividesAServerAndBeginsAtTheHighestClock) {
  make();
  orders_.clocks = {{0, 0, 0, 0}, {0, 0, 1, 0}};
  step();
  orders_.shards = {{0, 0, {0, 1}}};
  EXPECT_THAT(texts(step()), ElementsAre("reshard n begun"));
  step();
  EXPECT_TRUE(seen_.pools[0].servers[0].reshards);
  EXPECT_THAT(hands_.begun, ElementsAre("drain 0", "reshard 0"));
  EXPECT_EQ(hands_.divisions.back(), (Division{2}));
  const auto events = step();
  EXPECT_THAT(texts(events), ElementsAre("reshard n done", "clock n-both done"));
  EXPECT_EQ((hands_.clocks[{0, 2}]), 2000);
  EXPECT_THAT(texts(step()), ElementsAre("note n "));
  EXPECT_THAT(seen_.pools[0].servers[0].shards, ElementsAre(0, 1));
}

TEST_F(FleetLoopTest, TellsOfADivisionThatTheServerHasNotGot) {
  make();
  orders_.shards = {{0, 0, {1, 1}}};
  const auto events = step();
  ASSERT_THAT(texts(events), ElementsAre("reshard n failed"));
  EXPECT_EQ(servers_->state(0), State::kServing);
  EXPECT_THAT(hands_.begun, IsEmpty());
}

TEST_F(FleetLoopTest, OnlySaysWhatItWouldDoInADryRun) {
  hands_.is_dry = true;
  make();
  orders_.servers = {{0, 1, now_}};
  orders_.shards = {{0, 0, {0, 1}}};
  orders_.clocks = {{0, 0, 0, 0}};
  EXPECT_THAT(texts(step()), ElementsAre("start m would", "reshard n would", "clock n-a would"));
  orders_.servers = {{0, -2, now_}};
  EXPECT_THAT(texts(step()), ElementsAre("stop n would"));
  EXPECT_THAT(hands_.begun, IsEmpty());
  EXPECT_EQ(servers_->state(0), State::kServing);
  EXPECT_EQ(servers_->state(1), State::kOff);
  EXPECT_FALSE(servers_->drains_to_reshard(0));
  EXPECT_THAT(texts(loop_->end(now_, false).events), IsEmpty());
  EXPECT_TRUE(loop_->is_settled());
}

TEST_F(FleetLoopTest, BringsEverythingBackAtTheEnd) {
  make();
  // The one that was on is stopped, the other one started.
  orders_.servers = {{0, -1, now_}};
  orders_.clocks = {{0, 0, 0, 0}};
  step();
  orders_.servers = {{0, 1, now_}};
  for (int i = 0; i < 4; ++i) step();
  ASSERT_EQ(servers_->state(0), State::kOff);
  ASSERT_EQ(servers_->state(1), State::kServing);
  hands_.begun.clear();
  EXPECT_THAT(texts(loop_->end(now_, false).events), ElementsAre("start n begun", "stop m begun"));
  EXPECT_TRUE(hands_.clocks.empty());
  EXPECT_FALSE(loop_->is_settled());
  for (int i = 0; i < 4 && !loop_->is_settled(); ++i) step();
  EXPECT_TRUE(loop_->is_settled());
  EXPECT_EQ(servers_->state(0), State::kServing);
  EXPECT_EQ(servers_->state(1), State::kOff);
  EXPECT_THAT(hands_.begun, ElementsAre("start 0", "drain 1", "stop 1"));
}

TEST_F(FleetLoopTest, DividesBackAtTheEnd) {
  make();
  orders_.shards = {{0, 0, {0, 1}}};
  for (int i = 0; i < 3; ++i) step();
  ASSERT_EQ(servers_->division(0), (Division{2}));
  loop_->end(now_, false);
  for (int i = 0; i < 4 && !loop_->is_settled(); ++i) step();
  EXPECT_TRUE(loop_->is_settled());
  EXPECT_EQ(servers_->division(0), (Division{0, 1}));
}

TEST_F(FleetLoopTest, TakesAServerThatDrainsBackAtTheEnd) {
  make();
  requests_ = 1;
  step();
  orders_.servers = {{0, -1, now_}};
  step();
  step();
  ASSERT_EQ(servers_->state(0), State::kDraining);
  EXPECT_THAT(texts(loop_->end(now_, false).events), ElementsAre("start n begun"));
  step();
  EXPECT_TRUE(loop_->is_settled());
  EXPECT_EQ(servers_->state(0), State::kServing);
}

TEST_F(FleetLoopTest, GivesUpAtTheEndAndLeavesServersWhereAsked) {
  make();
  orders_.servers = {{0, -1, now_}};
  for (int i = 0; i < 4; ++i) step();
  ASSERT_EQ(servers_->state(0), State::kOff);
  hands_.deeds_fail = "start";
  loop_->end(now_, false);
  int steps = 0;
  for (; steps < 10 && !loop_->is_settled(); ++steps) step();
  EXPECT_LT(steps, 5);
  EXPECT_THAT(texts(loop_->end(now_, true).events), IsEmpty());
  EXPECT_TRUE(loop_->is_settled());
}

}  // namespace
}  // namespace perjoule
