#include "fleet/simulate/fleet_simulation.h"

#include <cmath>
#include <limits>

#include "fleet/simulate/test_fleet.h"

namespace perjoule {
namespace {

/// The policies' periods made short, so that half an hour has many of each.
FleetPolicy quick(FleetPolicy policy) {
  policy.instance_period = Seconds(300);
  policy.shard_period = Seconds(60);
  policy.least_attainment = 0.9;
  return policy;
}

FleetReport simulated(const FleetSetup& setup, const FleetPolicy& policy, RequestStream& stream) {
  auto report = simulate_fleet(setup, policy, stream);
  EXPECT_TRUE(report) << report.error().text();
  return std::move(report).value();
}

void expect_whole(const FleetReport& report) {
  const ClassTally all = report.all();
  EXPECT_EQ(all.arrived, all.done + all.squashed + all.failed) << report.policy;
  EXPECT_EQ(all.ttft.count(), all.done);
  EXPECT_LE(all.in_time, std::min(all.first_in_time, all.gaps_in_time));
  // Energy is the integral of the power that the bins show.
  Joules energy;
  Seconds time;
  for (const FleetBin& bin : report.bins) {
    EXPECT_EQ(bin.start, time);
    energy += bin.energy;
    time += bin.duration;
  }
  EXPECT_NEAR(energy.value(), report.energy().value(), 1e-9 * report.energy().value());
  EXPECT_NEAR(time.value(), report.duration.value(), 1e-9);
}

std::string bytes_of(const FleetReport& report) {
  std::string text;
  const auto add = [&](double value) {
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  add(report.busy.value());
  add(report.idle.value());
  add(report.transition.value());
  for (const FleetBin& bin : report.bins) add(bin.energy.value());
  for (const ClassTally& one : report.classes) {
    add(static_cast<double>(one.in_time));
    add(one.ttft.sum());
    add(one.tbt.sum());
  }
  return text;
}

TEST(FleetSimulationTest, StepsAreThoseOfTheLayout) {
  TestFleet fleet(20);
  // All instances of a single pool are of the largest layout.
  const auto steps = [&](std::vector<std::int64_t> by_layout) {
    fleet.setup.limits.step_tokens = std::move(by_layout);
    const auto stream = test_stream(20, 1, 5);
    return simulated(fleet.setup, policy_named("single-pool").value(), *stream).steps;
  };
  const std::int64_t as_all = steps({});
  EXPECT_EQ(steps({64, 64, 512}), as_all);
  EXPECT_NE(steps({512, 512, 64}), as_all);
}

TEST(FleetSimulationTest, EveryPolicyServesAllAndAddsUp) {
  TestFleet fleet(20);
  double before = 0;
  for (const FleetPolicy& policy : fleet_policies()) {
    const auto stream = test_stream(20);
    const FleetReport report = simulated(fleet.setup, quick(policy), *stream);
    expect_whole(report);
    EXPECT_GT(report.all().arrived, 20'000U);
    EXPECT_EQ(report.all().squashed, 0U) << policy.name;
    EXPECT_GT(report.all().attainment(), 0.9) << policy.name;
    EXPECT_EQ(report.status, Status::kSimulated);
    if (policy.name == "multi-pool") before = report.energy().value();
    if (policy.name == "all-knobs") {
      EXPECT_LT(report.energy().value(), 0.8 * before);
    }
  }
}

TEST(FleetSimulationTest, TheSameSeedGivesTheSameBytes) {
  TestFleet fleet(10);
  std::vector<std::string> all;
  for (const std::uint64_t seed : {1, 1, 2}) {
    TestFleet anew(10);
    const auto stream = test_stream(10, seed);
    all.push_back(bytes_of(simulated(anew.setup, quick(fleet_policies().back()), *stream)));
  }
  EXPECT_EQ(all[0], all[1]);
  EXPECT_NE(all[0], all[2]);
}

TEST(FleetSimulationTest, NoKnobIsSinglePoolBitForBit) {
  TestFleet fleet(10);
  FleetPolicy none = fleet_policies().back();
  none.has_pools = none.scales_instances = none.scales_shards = none.scales_clocks = false;
  none.has_emergencies = false;
  const auto one = test_stream(10);
  const auto other = test_stream(10);
  EXPECT_EQ(bytes_of(simulated(fleet.setup, none, *one)),
            bytes_of(simulated(fleet.setup, fleet_policies().front(), *other)));
}

/// Adds up what its steps take, behind the simulation's back.
class CountedSteps final : public StepModel {
 public:
  explicit CountedSteps(const StepModel& model) : StepModel(model.traits()), model_(model) {}
  StepCost cost(const StepBatch& batch, std::size_t clock) const noexcept override {
    const StepCost one = model_.cost(batch, clock);
    joules += one.energy.value();
    seconds += one.time.value();
    return one;
  }
  mutable double joules = 0;
  mutable double seconds = 0;

 private:
  const StepModel& model_;
};

TEST(FleetSimulationTest, EnergyIsThatOfTheStepsAndOfRest) {
  TestFleet fleet(5);
  std::vector<std::shared_ptr<const CountedSteps>> counted;
  fleet.setup.models.clear();
  for (const auto& model : test_models()) {
    counted.push_back(std::make_shared<const CountedSteps>(*model));
    fleet.setup.models.push_back(counted.back());
  }
  // It ends long before its last minute does, so that nothing is under way then.
  const auto stream = drawn({{Seconds(0), Seconds(200), Hertz(5)}}, test_lengths(), 1);
  const FleetReport report = simulated(fleet.setup, fleet_policies().front(), *stream);
  double joules = 0;
  double seconds = 0;
  for (const auto& model : counted) {
    joules += model->joules;
    seconds += model->seconds;
  }
  EXPECT_EQ(report.duration, Seconds(240));
  EXPECT_NEAR(report.busy.value(), joules, 1e-9 * joules);
  const double rest = 75 * (8 * report.peak_servers * 240 - 8 * seconds);
  EXPECT_NEAR(report.idle.value(), rest, 1e-9 * rest);
}

TEST(FleetSimulationTest, DemandAboveTheFleetEndsAndIsCounted) {
  TestFleet fleet(100);
  fleet.setup.most_servers = 1;
  for (const FleetPolicy& policy : fleet_policies()) {
    const auto stream = test_stream(100, 1, 2);
    const FleetReport report = simulated(fleet.setup, quick(policy), *stream);
    expect_whole(report);
    EXPECT_LE(report.peak_servers, 1);
    EXPECT_GT(report.all().squashed, 0U) << policy.name;
    EXPECT_LT(report.all().attainment(), 0.9) << policy.name;
  }
}

TEST(FleetSimulationTest, MoreServersNeverServeLess) {
  for (const char* const name : {"multi-pool", "scale-shard"}) {
    double before = 0;
    for (const int servers : {1, 2, 3, 5, 8}) {
      TestFleet fleet(40);
      fleet.setup.most_servers = servers;
      const auto stream = test_stream(40, 1, 5);
      const FleetReport report = simulated(fleet.setup, quick(policy_named(name).value()), *stream);
      expect_whole(report);
      EXPECT_LE(report.peak_servers, servers);
      EXPECT_GT(report.all().attainment(), before - 0.03) << name << servers;
      before = report.all().attainment();
    }
  }
}

TEST(FleetSimulationTest, StartsOfAnyLengthAddNoMoreThanIsNeeded) {
  std::uint64_t starts = 0;
  for (const double start : {0.0, 1.0, 60.0, 300.0, 900.0}) {
    TestFleet fleet(20);
    LoadCurve load;
    load.classes.assign(kLoadClasses, "");
    for (int i = 0; i < 6; ++i) {
      const double share = i % 2 == 0 ? 0.3 : 1;
      LoadBin bin{Seconds(300.0 * i), Seconds(300), {}};
      for (const double one : fleet.setup.peak) bin.tokens_per_s.push_back(share * one);
      load.bins.push_back(std::move(bin));
    }
    const auto forecast = known_load(std::move(load));
    fleet.setup.forecast = forecast.get();
    fleet.setup.transitions.start = Seconds(start);
    const auto stream = test_stream(20);
    const FleetReport report =
        simulated(fleet.setup, quick(policy_named("scale-inst").value()), *stream);
    expect_whole(report);
    EXPECT_EQ(report.all().squashed, 0U) << start;
    if (start == 0) starts = report.server_starts;
    EXPECT_LE(report.server_starts, starts + 1) << start;
  }
}

TEST(FleetSimulationTest, RequestsThatNothingCanServeFailAndAreCounted) {
  TestFleet fleet(5);
  const std::vector<TokenLengths> odd = {{0, 10, {}},
                                         {10, 0, {}},
                                         {2'000'000, 1, {}},
                                         {std::numeric_limits<std::int64_t>::max(), 1, {}},
                                         {100, 10, {}}};
  for (const FleetPolicy& policy : fleet_policies()) {
    const auto stream = drawn({{Seconds(0), Seconds(300), Hertz(4)}}, odd, 3);
    const FleetReport report = simulated(fleet.setup, policy, *stream);
    expect_whole(report);
    EXPECT_GT(report.all().failed, 500U);
    EXPECT_GT(report.all().done, 200U);
  }
}

TEST(FleetSimulationTest, WhatNothingCanMeetIsSaidBeforehand) {
  TestFleet fleet(5, 1.1);
  const auto stream = test_stream(5);
  const auto report = simulate_fleet(fleet.setup, fleet_policies().front(), *stream);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kOutOfRange);
  fleet.setup.predictor = nullptr;
  EXPECT_FALSE(simulate_fleet(fleet.setup, fleet_policies().back(), *stream));
  fleet.setup.models.clear();
  EXPECT_FALSE(simulate_fleet(fleet.setup, fleet_policies().front(), *stream));
}

TEST(FleetSimulationTest, NothingAtAllDrawsRestAndEnds) {
  TestFleet fleet(5);
  const auto stream = drawn({}, test_lengths(), 1);
  const FleetReport report = simulated(fleet.setup, fleet_policies().back(), *stream);
  EXPECT_EQ(report.all().arrived, 0U);
  EXPECT_EQ(report.busy, Joules(0));
  EXPECT_EQ(report.all().attainment(), 1);
}

TEST(FleetSimulationTest, MispredictedOnesAreCountedSpedUpOrMovedAndAllEnd) {
  for (const Outliving what : {Outliving::kKeep, Outliving::kSpeedUp, Outliving::kMove}) {
    TestFleet fleet(20);
    fleet.predictor = confused_predictor(even_confusion(0.4), 5).value();
    fleet.setup.predictor = fleet.predictor.get();
    FleetPolicy policy = quick(fleet_policies().back());
    policy.outliving = what;
    const auto stream = test_stream(20);
    const FleetReport report = simulated(fleet.setup, policy, *stream);
    expect_whole(report);
    const double share =
        static_cast<double>(report.mispredicted) / static_cast<double>(report.all().arrived);
    EXPECT_NEAR(share, 0.4, 0.02);
    EXPECT_EQ(report.moved > 0, what == Outliving::kMove);
    EXPECT_EQ(report.all().squashed, 0U);
  }
}

}  // namespace
}  // namespace perjoule
