#include "pipeline/runtime/rank_agent.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "base/file.h"
#include "device/temp_tree.h"
#include "pipeline/runtime/fake_gpu.h"
#include "pipeline/runtime/plan_server.h"

namespace perjoule {
namespace {

/// What passes between a rank and the service that it asks.
struct Talk {
  std::vector<std::optional<IterationReport>> reports;
  std::optional<RankOrders> orders;   ///< the last that were given
  std::optional<RankOrders> instead;  ///< of what the service says
  bool gone = false;                  ///< nobody answers any more
  bool silent = false;                ///< "as before", whatever was before
  int left = 0;
};

/// The service itself, without a socket.
class ServiceLink final : public PlanLink {
 public:
  ServiceLink(PlanService& service, std::shared_ptr<Talk> talk)
      : service_(service), talk_(std::move(talk)) {}
  Result<RankWelcome> join(const RankPlace& place) override {
    PJ_TRY(RankWelcome welcome, service_.join(place));
    rank_ = welcome.rank;
    return welcome;
  }
  Result<std::optional<RankOrders>> next(std::int64_t iteration, std::int64_t have,
                                         const std::optional<IterationReport>& report) override {
    if (talk_->gone) return Error::unavailable("the plan server has ended");
    talk_->reports.push_back(report);
    if (talk_->silent) return std::optional<RankOrders>();
    PJ_TRY(RankOrders orders, service_.next(rank_, iteration, report));
    if (talk_->instead) orders = *talk_->instead;
    if (orders.epoch == have) return std::optional<RankOrders>();
    talk_->orders = orders;
    return std::optional<RankOrders>(std::move(orders));
  }
  Outcome leave(const std::optional<IterationReport>& report) override {
    ++talk_->left;
    talk_->reports.push_back(report);
    return service_.leave(rank_, report);
  }

 private:
  PlanService& service_;
  std::shared_ptr<Talk> talk_;
  int rank_ = 0;
};

class RankAgentTest : public testing::Test {
 protected:
  RankAgentTest() {
    setenv("PERJOULE_KNOBS", (tree_ / "knobs").c_str(), 1);
    machine_.devices.push_back(std::make_unique<FakeGpu>("gpu:a", clock_));
    RuntimeRequest request{.only_profile = true, .warm_up = 1, .rounds = 1};
    for (const char* clock : {"1410 MHz", "1200 MHz", "1000 MHz"})
      request.settings.emplace_back().set("clock", clock);
    PipelineJob job;
    job.shape = {.stages = 1, .microbatches = 3};
    auto service = PlanService::make(std::move(job), std::move(request));
    EXPECT_TRUE(service) << service.error().text();
    service_ = std::move(*service);
  }
  ~RankAgentTest() override {
    agent_.reset();
    unsetenv("PERJOULE_KNOBS");
  }

  FakeGpu& gpu() { return static_cast<FakeGpu&>(*machine_.devices.front()); }
  Result<std::unique_ptr<RankAgent>> joined(const RankOptions& options = {}) {
    return RankAgent::join(machine_, clock_, std::make_unique<ServiceLink>(*service_, talk_),
                           options);
  }
  void join(const RankOptions& options = {}) {
    auto agent = joined(options);
    ASSERT_TRUE(agent) << agent.error().text();
    agent_ = std::move(*agent);
    // All that is drawn from here on is seen.
    ASSERT_TRUE(gpu().counter.wait_for_look(clock_.time()));
  }
  void compute(Seconds time, Watts power) {
    gpu().counter.draw(power);
    clock_.advance(time);
    ASSERT_TRUE(gpu().counter.wait_for_look(clock_.time()));
  }
  void instruction(const char* name, int microbatch) {
    EXPECT_TRUE(agent_->begin(name, microbatch, 0));
    compute(name[0] == 'f' ? kForward : kBackward, Watts(300));
    EXPECT_TRUE(agent_->end());
  }
  /// One iteration of the only stage, from its begin_iteration on.
  void rest_of_iteration() {
    for (int microbatch = 0; microbatch < 3; ++microbatch) {
      instruction("forward", microbatch);
      instruction("backward", microbatch);
    }
    compute(kUpdate, Watts(80));
    EXPECT_TRUE(agent_->end_iteration());
  }
  void iterate() {
    const Outcome begun = agent_->begin_iteration();
    ASSERT_TRUE(begun) << begun.error().text();
    rest_of_iteration();
  }
  bool nothing_is_journalled() { return list_folder(tree_ / "knobs").empty(); }
  /// The GPU is as it was found, and all calls do nothing.
  void expect_lost_and_training() {
    EXPECT_TRUE(agent_->lost());
    EXPECT_EQ(gpu().knob.value(), "1410 MHz");
    EXPECT_TRUE(nothing_is_journalled());
    const std::size_t asked = talk_->reports.size();
    const std::size_t set = gpu().knob.history().size();
    for (int i = 0; i < 3; ++i) iterate();
    EXPECT_TRUE(agent_->leave());
    EXPECT_EQ(talk_->reports.size(), asked);
    EXPECT_EQ(talk_->left, 0);
    EXPECT_EQ(gpu().knob.history().size(), set);
  }

  static constexpr Seconds kForward{0.02}, kBackward{0.04}, kUpdate{0.01};

  TempTree tree_;
  HandClock clock_;
  Inventory machine_;
  std::unique_ptr<PlanService> service_;
  std::shared_ptr<Talk> talk_ = std::make_shared<Talk>();
  std::unique_ptr<RankAgent> agent_;
};

/// All of three microbatches' instructions at these settings in turn.
RankOrders orders_at(const std::vector<const char*>& clocks, std::string name = "clock") {
  RankOrders orders;
  orders.epoch = 100;
  orders.phase = RuntimePhase::kPlan;
  for (const char* clock : clocks) orders.knobs.emplace_back().set(name, clock);
  for (std::uint32_t i = 0; i < 6; ++i)
    orders.knob.push_back(i % static_cast<std::uint32_t>(clocks.size()));
  return orders;
}

TEST_F(RankAgentTest, EachIterationIsRunAsOrdered) {
  join();
  EXPECT_EQ(agent_->epoch(), -1);
  std::string clocks;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(agent_->begin_iteration());
    ASSERT_TRUE(talk_->orders);
    const Config& setting = talk_->orders->knobs[talk_->orders->knob.front()];
    const std::string ordered((*setting.settings().begin()).value);
    EXPECT_TRUE(gpu().knob.wait_for(ordered)) << ordered;
    EXPECT_EQ(agent_->epoch(), talk_->orders->epoch);
    EXPECT_EQ(agent_->phase(), i == 0 ? RuntimePhase::kWarmUp : RuntimePhase::kProfile);
    clocks += ordered + " ";
    rest_of_iteration();
  }
  EXPECT_EQ(clocks, "1410 MHz 1410 MHz 1200 MHz 1000 MHz ");
  EXPECT_FALSE(agent_->lost());
}

TEST_F(RankAgentTest, EachInstructionHasItsClock) {
  talk_->instead = orders_at({"1300 MHz", "900 MHz"});
  join();
  ASSERT_TRUE(agent_->begin_iteration());
  // The first one's is asked for at once, and each next one's as soon as the one before has ended.
  EXPECT_TRUE(gpu().knob.wait_for("1300 MHz"));
  for (int microbatch = 0; microbatch < 3; ++microbatch) {
    ASSERT_TRUE(agent_->begin("Forward", microbatch, 0));
    EXPECT_TRUE(gpu().knob.wait_for("1300 MHz"));
    ASSERT_TRUE(agent_->end());
    EXPECT_TRUE(gpu().knob.wait_for("900 MHz"));
    ASSERT_TRUE(agent_->begin("backward", microbatch, 0));
    ASSERT_TRUE(agent_->end());
  }
  ASSERT_TRUE(agent_->end_iteration());
  EXPECT_GE(agent_->knob_turns(), 4);
}

TEST_F(RankAgentTest, AColumnCalledFrequencyIsTheClockAndANumberHasItsUnit) {
  talk_->instead = orders_at({"1200"}, "frequency");
  join();
  ASSERT_TRUE(agent_->begin_iteration());
  EXPECT_TRUE(gpu().knob.wait_for("1200 MHz"));
}

TEST_F(RankAgentTest, AnEmptySettingLeavesTheGpuAsItIs) {
  talk_->instead = orders_at({""});
  join();
  for (int i = 0; i < 3; ++i) iterate();
  EXPECT_TRUE(agent_->leave());
  EXPECT_TRUE(gpu().knob.history().empty());
}

TEST_F(RankAgentTest, ReportsTellWhatWasRun) {
  join();
  const Seconds begin = clock_.time();
  for (int i = 0; i < 3; ++i) iterate();
  ASSERT_TRUE(agent_->leave());
  ASSERT_EQ(talk_->reports.size(), 4U);
  EXPECT_FALSE(talk_->reports[0]) << "nothing has been run yet";
  const Seconds took = 3 * (kForward + kBackward) + kUpdate;
  Seconds last_at;
  Joules last_energy;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(talk_->reports[i + 1]);
    const IterationReport& report = *talk_->reports[i + 1];
    EXPECT_EQ(report.iteration, i);
    EXPECT_NEAR((report.begin - begin).value(), (took * i).value(), 1e-6);
    EXPECT_NEAR((report.end - report.begin).value(), took.value(), 1e-6);
    ASSERT_EQ(report.start.size(), 6U);
    ASSERT_EQ(report.took.size(), 6U);
    for (std::size_t k = 0; k < 6; ++k) {
      const Seconds before = (kForward + kBackward) * static_cast<double>(k / 2);
      EXPECT_NEAR((report.start[k] - report.begin).value(),
                  (before + (k % 2 == 1 ? kForward : Seconds(0))).value(), 1e-6);
      EXPECT_NEAR(report.took[k].value(), (k % 2 == 0 ? kForward : kBackward).value(), 1e-6);
    }
    EXPECT_FALSE(report.ticks.empty());
    for (const CounterTick& tick : report.ticks) {
      EXPECT_GT(tick.at, last_at);
      EXPECT_GT(tick.energy, last_energy) << "though the counter has started again meanwhile";
      last_at = tick.at;
      last_energy = tick.energy;
      // What the counter said when it was looked at; the clock may have been moved within a look.
      const Seconds looked = tick.at + tick.gap / 2.0;
      EXPECT_LE(tick.energy.value(), gpu().counter.drawn(looked).value() + 1e-3);
      EXPECT_GE(tick.energy.value(), gpu().counter.drawn(looked - kBackward).value() - 1e-3);
    }
  }
  EXPECT_GT(last_energy, Joules(5)) << "it did not start again";
}

TEST_F(RankAgentTest, AnInstructionThatDidNotRunHasNoTime) {
  join();
  ASSERT_TRUE(agent_->begin_iteration());
  instruction("forward", 1);
  ASSERT_TRUE(agent_->end_iteration());
  ASSERT_TRUE(agent_->leave());
  const IterationReport& report = *talk_->reports.back();
  ASSERT_EQ(report.took.size(), 6U);
  for (std::size_t k = 0; k < 6; ++k) {
    EXPECT_EQ(std::isnan(report.start[k].value()), k != 2);
    EXPECT_EQ(std::isnan(report.took[k].value()), k != 2);
  }
}

TEST_F(RankAgentTest, AServerThatIsGoneLeavesATrainingThatGoesOn) {
  talk_->instead = orders_at({"900 MHz"});
  join();
  iterate();
  EXPECT_TRUE(gpu().knob.wait_for("900 MHz"));
  talk_->gone = true;
  const Outcome said = agent_->begin_iteration();
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().code, ErrorCode::kUnavailable);
  expect_lost_and_training();
}

TEST_F(RankAgentTest, TheEndOfTheServersSocketIsSeenAtTheNextIteration) {
  auto server = PlanServer::start(tree_ / "plan", *service_);
  ASSERT_TRUE(server) << server.error().text();
  auto link = connect_plan_link(tree_ / "plan");
  ASSERT_TRUE(link) << link.error().text();
  auto agent = RankAgent::join(machine_, clock_, std::move(*link), {});
  ASSERT_TRUE(agent) << agent.error().text();
  agent_ = std::move(*agent);
  for (int i = 0; i < 3; ++i) iterate();
  EXPECT_TRUE(gpu().knob.wait_for("1200 MHz"));
  server->reset();
  const Outcome said = agent_->begin_iteration();
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().code, ErrorCode::kUnavailable);
  expect_lost_and_training();
}

TEST_F(RankAgentTest, AClockThatIsRefusedIsSaidOnceAndTheTrainingGoesOn) {
  talk_->instead = orders_at({"1200 MHz", "900 MHz"});
  gpu().knob.refuse("900 MHz");
  join();
  ASSERT_TRUE(agent_->begin_iteration());
  ASSERT_TRUE(gpu().knob.wait_for("1200 MHz"));
  ASSERT_TRUE(agent_->begin("forward", 0, 0));
  ASSERT_TRUE(agent_->end());
  // Refused meanwhile, and put back.
  ASSERT_TRUE(gpu().knob.wait_for("1410 MHz"));
  ASSERT_TRUE(agent_->end_iteration());
  const Outcome said = agent_->begin_iteration();
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().code, ErrorCode::kPermissionDenied);
  expect_lost_and_training();
}

TEST_F(RankAgentTest, OrdersThatTheGpuHasNoKnobForAreRefused) {
  talk_->instead = orders_at({"0.9"}, "voltage");
  join();
  const Outcome said = agent_->begin_iteration();
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().code, ErrorCode::kNotSupported);
  EXPECT_NE(said.error().text().find("'voltage'"), std::string::npos) << said.error().text();
  expect_lost_and_training();
}

TEST_F(RankAgentTest, OrdersOfAnotherNumberOfInstructionsAreRefused) {
  talk_->instead = orders_at({"900 MHz"});
  talk_->instead->knob.pop_back();
  join();
  EXPECT_FALSE(agent_->begin_iteration());
  expect_lost_and_training();
}

TEST_F(RankAgentTest, AServerThatNeverGaveOrdersCannotSayAsBefore) {
  talk_->silent = true;
  join();
  EXPECT_FALSE(agent_->begin_iteration());
  expect_lost_and_training();
}

TEST_F(RankAgentTest, CallsOutOfTurnAreRefusedAndHarmNothing) {
  join();
  const auto refused = [](const Outcome& outcome) {
    return !outcome && outcome.error().code == ErrorCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused(agent_->begin("forward", 0, 0))) << "outside an iteration";
  EXPECT_TRUE(refused(agent_->end()));
  EXPECT_TRUE(refused(agent_->end_iteration()));
  ASSERT_TRUE(agent_->begin_iteration());
  EXPECT_TRUE(refused(agent_->begin_iteration()));
  EXPECT_TRUE(refused(agent_->begin("forward", 3, 0)));
  EXPECT_TRUE(refused(agent_->begin("forward", 0, 1)));
  EXPECT_TRUE(refused(agent_->begin("sideward", 0, 0)));
  ASSERT_TRUE(agent_->begin("forward", 0, 0));
  EXPECT_TRUE(refused(agent_->begin("backward", 0, 0)));
  EXPECT_TRUE(refused(agent_->end_iteration()));
  ASSERT_TRUE(agent_->end());
  rest_of_iteration();
  iterate();
  EXPECT_FALSE(agent_->lost());
}

TEST_F(RankAgentTest, InstructionsWaitForTheGpuAtBothEnds) {
  int calls = 0;
  bool fails = false;
  RankOptions options;
  options.sync = [&]() -> Outcome {
    ++calls;
    if (fails) return Error::unavailable("the GPU is gone");
    return {};
  };
  join(options);
  ASSERT_TRUE(agent_->begin_iteration());
  instruction("forward", 0);
  EXPECT_EQ(calls, 2);
  ASSERT_TRUE(agent_->begin("backward", 0, 0));
  fails = true;
  EXPECT_EQ(agent_->end().error().code, ErrorCode::kUnavailable);
  fails = false;
  EXPECT_TRUE(agent_->end()) << "it may be tried again";
}

TEST_F(RankAgentTest, LeavingPutsTheGpuBackAndEndsItAll) {
  talk_->instead = orders_at({"900 MHz"});
  join();
  iterate();
  EXPECT_TRUE(gpu().knob.wait_for("900 MHz"));
  EXPECT_TRUE(agent_->leave());
  EXPECT_EQ(gpu().knob.value(), "1410 MHz");
  EXPECT_TRUE(nothing_is_journalled());
  EXPECT_EQ(talk_->left, 1);
  EXPECT_TRUE(agent_->leave());
  EXPECT_TRUE(agent_->begin_iteration());
  agent_.reset();
  EXPECT_EQ(talk_->left, 1);
  EXPECT_EQ(talk_->reports.size(), 2U);
}

TEST_F(RankAgentTest, TheEndOfTheAgentLeavesToo) {
  talk_->instead = orders_at({"900 MHz"});
  join();
  iterate();
  EXPECT_TRUE(gpu().knob.wait_for("900 MHz"));
  agent_.reset();
  EXPECT_EQ(gpu().knob.value(), "1410 MHz");
  EXPECT_EQ(talk_->left, 1);
}

TEST_F(RankAgentTest, ItMustBeClearWhichGpuItIs) {
  machine_.devices.push_back(std::make_unique<FakeGpu>("gpu:b", clock_));
  machine_.devices.push_back(std::make_unique<FakeGpu>("cpu:0", clock_, DeviceKind::kCpu));
  EXPECT_EQ(joined().error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(joined({.device = "cpu:0"}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(joined({.device = "gpu:c"}).error().code, ErrorCode::kNotFound);
  const auto second = joined({.device = "gpu:b"});
  EXPECT_TRUE(second) << second.error().text();
}

TEST_F(RankAgentTest, APlaceThatTheJobDoesNotHaveIsRefusedAndNothingIsTouched) {
  EXPECT_EQ(joined({.stage = 1}).error().code, ErrorCode::kInvalidArgument);
  join();
  EXPECT_EQ(joined().error().code, ErrorCode::kConflict) << "the place is taken";
  EXPECT_TRUE(gpu().knob.history().empty());
}

}  // namespace
}  // namespace perjoule
