#include "workload/bench_join.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "workload/bench_files.h"
#include "workload/bench_result_json.h"

namespace perjoule {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMoment = 1'608'718'911 * kSecond;

BenchResult result(std::int64_t begin = kMoment, std::int64_t end = kMoment + 100 * kSecond) {
  BenchResult r;
  r.benchmark = "tool";
  r.task = "chat";
  r.model.id = "org/a";
  r.origin.file = "r.json";
  r.window = BenchWindow{begin, end, Seconds(0), "test"};
  r.totals = {10000, 40000, 50};
  return r;
}

/// A sample a second of a power that is a function of seconds since kMoment.
template <typename F>
PowerSeries sampled(const std::string& device, F&& watts, int from = -10, int until = 110) {
  PowerSeries series{device, {}};
  for (int i = from; i <= until; ++i)
    series.samples.push_back({kMoment + i * kSecond, Watts(watts(i))});
  return series;
}

PowerLog log_of(std::vector<PowerSeries> devices) {
  PowerLog log;
  log.file = "p.csv";
  log.format = "table";
  log.boundary = Boundary::kDevice;
  log.gain = 0;
  log.devices = std::move(devices);
  return log;
}

BenchJoin joined(const BenchResult& r, const PowerLog& log, const JoinOptions& options = {}) {
  const auto join = join_power(r, log, options);
  EXPECT_TRUE(join) << join.error().text();
  return join ? *join : BenchJoin();
}

TEST(BenchJoin, ConstantPowerIsPowerTimesTimeAndCertain) {
  const BenchJoin join = joined(result(), log_of({sampled("gpu:0", [](int) { return 300.0; }),
                                                  sampled("gpu:1", [](int) { return 200.0; })}));
  EXPECT_DOUBLE_EQ(join.energy.joules.value(), 50000);
  EXPECT_NEAR(join.energy.standard_uncertainty().value(), 0, 1e-6);
  EXPECT_EQ(join.energy.status, Status::kReconstructed);
  EXPECT_EQ(join.energy.boundary, Boundary::kDevice);
  EXPECT_EQ(join.devices, 2U);
  const BenchResult& r = join.result;
  EXPECT_DOUBLE_EQ(r.energy.output_token->joules.value(), 5);
  EXPECT_DOUBLE_EQ(r.energy.total_token->joules.value(), 1);
  EXPECT_DOUBLE_EQ(r.energy.response->joules.value(), 1000);
  EXPECT_DOUBLE_EQ(r.power->value(), 500);
  EXPECT_DOUBLE_EQ(*r.rates.output_tokens, 100);
  EXPECT_DOUBLE_EQ(*r.rates.responses, 0.5);
  EXPECT_EQ(r.gpus.count, 2);
  EXPECT_TRUE(join.notes.empty()) << join.notes[0];
}

TEST(BenchJoin, WhatIsWrittenIsReadAgainWithoutAWordAgainstIt) {
  const BenchJoin join =
      joined(result(kMoment + 123'456'789, kMoment + 99'876'543'211),
             log_of({sampled("gpu:0", [](int i) { return 300.0 + i % 7; })}), {.gain = 0.05});
  const Json json = to_json(join.result);
  const auto files = parse_bench_text(json.dump(), "out.json");
  ASSERT_TRUE(files) << files.error().text();
  const BenchResult& again = files->results[0];
  EXPECT_TRUE(again.validity.empty()) << again.validity[0];
  EXPECT_EQ(to_json(again), json);
  EXPECT_EQ(again.window->begin_unix_ns, kMoment + 123'456'789);
  EXPECT_EQ(again.totals.input_tokens, 40000);
  EXPECT_TRUE(uncertainty_stated(*again.energy.output_token));
}

RC_GTEST_PROP(BenchJoinProperty, WindowsSideBySideAddUp, ()) {
  const auto powers = *rc::gen::container<std::vector<int>>(60, rc::gen::inRange(1, 700));
  const auto kind =
      *rc::gen::element(PowerKind::kPoint, PowerKind::kMeanBefore, PowerKind::kMeanAround);
  const auto cut = *rc::gen::inRange<std::int64_t>(1, 40'000'000'000);
  PowerLog log = log_of({sampled(
      "gpu:0", [&](int i) { return powers[static_cast<std::size_t>(i)]; }, 0, 59)});
  log.kind = kind;
  const std::int64_t begin = kMoment + 10 * kSecond;
  const std::int64_t end = kMoment + 50 * kSecond;
  const auto whole = join_power(result(begin, end), log, {});
  const auto one = join_power(result(begin, begin + cut), log, {});
  const auto other = join_power(result(begin + cut, end), log, {});
  RC_ASSERT(whole.has_value());
  RC_ASSERT(one.has_value());
  RC_ASSERT(other.has_value());
  const double sum = one->energy.joules.value() + other->energy.joules.value();
  RC_ASSERT(std::abs(sum - whole->energy.joules.value()) <= 1e-9 * sum);
}

RC_GTEST_PROP(BenchJoinProperty, TheOrderOfDevicesChangesNothing, ()) {
  auto order = *rc::gen::map(rc::gen::inRange(0, 1 << 30), [](int seed) {
    std::vector<int> devices{0, 1, 2, 3};
    for (std::size_t i = 3; i > 0; --i) {
      std::swap(devices[i], devices[static_cast<std::size_t>(seed) % (i + 1)]);
      seed /= 4;
    }
    return devices;
  });
  const auto with_order = [](const std::vector<int>& devices) {
    std::vector<PowerSeries> made;
    for (const int device : devices) {
      made.push_back(sampled("gpu:" + std::to_string(device),
                             [&](int i) { return 100.0 * (device + 1) + (i * 37 + device) % 50; }));
    }
    return log_of(std::move(made));
  };
  BenchResult r = result();
  r.window->known_within = Seconds(2);
  const auto sorted = join_power(r, with_order({0, 1, 2, 3}), {.gain = 0.05});
  const auto shuffled = join_power(r, with_order(order), {.gain = 0.05});
  RC_ASSERT(sorted.has_value() && shuffled.has_value());
  const auto near = [](Joules a, Joules b) {
    return std::abs((a - b).value()) <= 1e-9 * std::abs(a.value());
  };
  RC_ASSERT(near(sorted->energy.joules, shuffled->energy.joules));
  RC_ASSERT(near(sorted->energy.random, shuffled->energy.random));
  RC_ASSERT(sorted->energy.systematic.size() == shuffled->energy.systematic.size());
  for (std::size_t i = 0; i < sorted->energy.systematic.size(); ++i)
    RC_ASSERT(sorted->energy.systematic[i].sensor == shuffled->energy.systematic[i].sensor);
}

TEST(BenchJoin, ADisplacedWindowCountsByTheStepsAtItsEdges) {
  // 100 W before and after, 500 W in the window: displaced by 2 s it holds 2 s of idle instead.
  const auto load = [](int i) { return i >= 0 && i < 100 ? 500.0 : 100.0; };
  PowerLog log = log_of({sampled("gpu:0", load)});
  log.kind = PowerKind::kMeanAround;
  BenchResult r = result(kMoment - kSecond / 2, kMoment + 99 * kSecond + kSecond / 2);
  EXPECT_DOUBLE_EQ(joined(r, log).energy.joules.value(), 50000);
  EXPECT_NEAR(joined(r, log).budget.place.value(), 0, 1e-9);
  r.window->known_within = Seconds(2);
  EXPECT_NEAR(joined(r, log).budget.place.value(), 800 / std::sqrt(3.0), 1e-6);
  EXPECT_NEAR(joined(r, log, {.known_within = Seconds(1)}).budget.place.value(),
              400 / std::sqrt(3.0), 1e-6);
  // Within a load that does not change it does not matter.
  EXPECT_NEAR(joined(r, log_of({sampled("gpu:0", [](int) { return 500.0; })})).budget.place.value(),
              0, 1e-6);
}

TEST(BenchJoin, ALogThatEndsWhereTheWindowMayLieIsSaid) {
  BenchResult r = result();
  r.window->known_within = Seconds(2);
  const auto flat = [](int) { return 300.0; };
  EXPECT_TRUE(joined(r, log_of({sampled("gpu:0", flat)})).notes.empty());
  const BenchJoin join = joined(r, log_of({sampled("gpu:0", flat, -10, 101)}));
  ASSERT_EQ(join.notes.size(), 1U);
  EXPECT_NE(join.notes[0].find("does not reach 2.00 s beyond"), std::string::npos);
  r.window->known_within = Seconds(1e6);
  EXPECT_FALSE(join_power(r, log_of({sampled("gpu:0", flat)}), {}));
}

TEST(BenchJoin, StampsGainAndGapsAreEachTheirOwnPart) {
  PowerLog log = log_of({sampled("gpu:0", [](int) { return 300.0; }),
                         sampled("gpu:GPU-b", [](int) { return 300.0; })});
  log.gain = 0.05;
  const BenchJoin join = joined(result(), log);
  const double each = 30000 * 0.05 / std::sqrt(3.0);
  ASSERT_EQ(join.energy.systematic.size(), 2U);
  EXPECT_EQ(join.energy.systematic[0].sensor, "gpu:GPU-b/gain");
  EXPECT_EQ(join.energy.systematic[1].sensor, "p.csv/gpu:0/gain");
  EXPECT_NEAR(join.energy.systematic[0].sigma.value(), each, 1e-6);
  EXPECT_NEAR(join.budget.gain.value(), each * std::sqrt(2.0), 1e-6);
  EXPECT_NEAR(joined(result(), log, {.gain = 0.01}).budget.gain.value(),
              join.budget.gain.value() / 5, 1e-6);
  log.known_within = Seconds(1);
  log.devices[0] = sampled("gpu:0", [](int i) { return i < 0 ? 100.0 : 300.0; });
  EXPECT_GT(joined(result(), log).budget.stamps.value(), 0);
}

TEST(BenchJoin, AGapIsSaidAndCounted) {
  PowerSeries series = sampled("gpu:0", [](int i) { return i == 20 ? 400.0 : 300.0; });
  std::erase_if(series.samples, [](const LoggedPower& sample) {
    return sample.at_unix_ns > kMoment + 30 * kSecond && sample.at_unix_ns < kMoment + 42 * kSecond;
  });
  const BenchJoin join = joined(result(), log_of({series}));
  ASSERT_EQ(join.notes.size(), 1U);
  EXPECT_NE(join.notes[0].find("gpu:0 has no sample for 12.0 s"), std::string::npos)
      << join.notes[0];
  EXPECT_NEAR(join.budget.gap.value(), 12 * 100 / std::sqrt(12.0), 1e-9);
}

TEST(BenchJoin, WhatTheLogDoesNotCoverIsDataLoss) {
  const auto lost = [](const BenchResult& r, const PowerLog& log,
                       std::initializer_list<std::string> wanted) {
    const auto join = join_power(r, log, {});
    ASSERT_FALSE(join);
    EXPECT_EQ(join.error().code, ErrorCode::kDataLoss);
    for (const std::string& word : wanted)
      EXPECT_NE(join.error().text().find(word), std::string::npos) << join.error().text();
  };
  const auto flat = [](int) { return 300.0; };
  lost(result(), log_of({sampled("gpu:0", flat), sampled("gpu:1", flat, 3)}),
       {"gpu:1", "begins 3.000 s after"});
  lost(result(), log_of({sampled("gpu:0", flat, -10, 98)}), {"ends 2.000 s before"});
  lost(result(), log_of({sampled("gpu:0", flat, 200, 300)}), {"begins 200.000 s", "--offset"});
  lost(result(), log_of({sampled("gpu:0", flat, 0, 0)}), {"ends 100.000 s before"});
  lost(result(), log_of({sampled("gpu:0", [](int) { return 0.0; })}), {"no energy"});
  PowerSeries sparse = sampled("gpu:0", flat);
  std::erase_if(sparse.samples, [](const LoggedPower& sample) {
    return sample.at_unix_ns > kMoment + 10 * kSecond && sample.at_unix_ns < kMoment + 80 * kSecond;
  });
  lost(result(), log_of({sparse}), {"no sample for 70.000 s"});
}

TEST(BenchJoin, WhatIsNotSaidIsAskedFor) {
  const PowerLog log = log_of({sampled("gpu:0", [](int) { return 300.0; })});
  BenchResult r = result();
  r.window.reset();
  const auto no_window = join_power(r, log, {});
  ASSERT_FALSE(no_window);
  EXPECT_NE(no_window.error().text().find("--begin"), std::string::npos);
  PowerLog unbounded = log;
  unbounded.boundary.reset();
  const auto no_boundary = join_power(result(), unbounded, {});
  ASSERT_FALSE(no_boundary);
  EXPECT_NE(no_boundary.error().text().find("--boundary"), std::string::npos);
  const BenchJoin node = joined(result(), unbounded, {.boundary = Boundary::kNode});
  EXPECT_EQ(node.energy.boundary, Boundary::kNode);
  EXPECT_EQ(node.result.gpus.count, 1);  // a node's meter does not count GPUs
  EXPECT_FALSE(join_power(result(), log, {.boundary = Boundary::kNode}));
  PowerLog ungauged = log;
  ungauged.gain.reset();
  EXPECT_NE(joined(result(), ungauged).notes[0].find("--gain"), std::string::npos);
}

TEST(BenchJoin, OfTotalsThatAreNotKnownThereIsNoEnergy) {
  BenchResult r = result();
  r.totals = {};
  r.totals.responses = 50;
  r.totals.duration = Seconds(90);
  r.energy.output_token = published_energy(Joules(3), "tool");
  const BenchJoin join = joined(r, log_of({sampled("gpu:0", [](int) { return 300.0; })}));
  EXPECT_FALSE(join.result.energy.output_token);
  EXPECT_FALSE(join.result.energy.total_token);
  EXPECT_TRUE(join.result.energy.response);
  EXPECT_DOUBLE_EQ(join.result.power->value(), 300);
  ASSERT_EQ(join.notes.size(), 3U);
  EXPECT_NE(join.notes[0].find("90.00 s"), std::string::npos);
  EXPECT_NE(join.notes[1].find("replaced"), std::string::npos);
  EXPECT_NE(join.notes[2].find("how many tokens"), std::string::npos);
}

}  // namespace
}  // namespace perjoule
