#include "twin/simulation.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "twin/gpu_model.h"

namespace perjoule::twin {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// One device at its reference temperature: short runs of a warm chip, as benchmarks are.
class Bench {
 public:
  Bench(const char* key, double cap_w) : silicon_((*find_gpu_model(key))->silicon) {
    begin(*simulation_, silicon_, silicon_.reference_c);
    controls_ = {.cap_w = cap_w, .ceiling_mhz = silicon_.clock_max_mhz, .context = true};
  }
  Simulation& operator*() { return *simulation_; }
  const Silicon& silicon() const { return silicon_; }
  Controls& controls() { return controls_; }
  void to(std::int64_t ns) { advance(*simulation_, silicon_, controls_, ns, nullptr); }
  /// Runs one phase to its end and answers the seconds it took.
  double run(const Phase& phase) {
    const std::int64_t from = simulation_->now_ns;
    const std::uint64_t ticket = post(*simulation_, phase, 1);
    advance(*simulation_, silicon_, controls_, std::numeric_limits<std::int64_t>::max(), nullptr,
            ticket);
    return static_cast<double>(simulation_->now_ns - from) * 1e-9;
  }

 private:
  Silicon silicon_;
  Controls controls_;
  std::unique_ptr<Simulation> simulation_ = std::make_unique<Simulation>();
};

TEST(Simulation, UncappedPhaseTakesAndCostsWhatTheFormulasSay) {
  Bench bench("h100", 1e9);
  const Phase phase{.flop = 989e12 * 0.5, .activity = 0.8};
  bench.controls().context = true;
  const double seconds = bench.run(phase);
  EXPECT_NEAR(seconds, 0.5, 1e-8);
  // The temperature moves a little within half a second; its effect is bounded by the leakage law.
  const double joules = 0.5 * active_power(bench.silicon(), phase, 1980, 65);
  EXPECT_NEAR((*bench).energy_j, joules, joules * 2e-3);
}

TEST(Simulation, HoldsTheCapWithinOnePerCentAfterTheWindow) {
  for (const GpuModel& model : gpu_models()) {
    SCOPED_TRACE(model.key);
    const std::string key(model.key);
    Bench bench(key.c_str(), 0.8 * model.limit_default_w);
    post(*bench, {.flop = 1e20, .dram_share = 0.2}, 1);
    bench.to(kSecond);
    const double before = (*bench).energy_j;
    bench.to(3 * kSecond);
    const double mean = ((*bench).energy_j - before) / 2;
    EXPECT_NEAR(mean / bench.controls().cap_w, 1, 0.01);
    EXPECT_TRUE((*bench).capped);
  }
}

TEST(Simulation, SettlesWhereTheSteadyStateSays) {
  Bench bench("h100", 700);
  const Phase phase{.flop = 989e12 * 2};
  bench.run(phase);
  const double seconds = bench.run(phase);
  const SteadyState steady = settle(bench.silicon(), phase, 700, (*bench).temperature_c);
  EXPECT_NEAR(seconds / steady.period_s, 1, 0.01);
  EXPECT_NEAR((*bench).clock_mhz, steady.clock_mhz, 31);
}

TEST(Simulation, CapIsExceededAtTheStartAndObeyedWithinFortyMilliseconds) {
  Bench bench("gb300", 1400);
  bench.to(kSecond);
  post(*bench, {.flop = 1e20, .dram_share = 0.15}, 1);
  bench.to(kSecond + 5 * kNsPerMs);
  EXPECT_GT((*bench).last_ms_power_w, 1700);  // the excursion above the limit
  bench.to(kSecond + 60 * kNsPerMs);
  EXPECT_LT((*bench).last_ms_power_w, 1420);
}

// MatMul alternating with memory reads, ten slots of 1 ms a round: the less of the time is MatMul,
// the less the cap holds its clock down; at half duty it runs uncapped.
TEST(Simulation, DutyCycleGain) {
  const auto rate = [](int matmul_slots) {
    Bench bench("gb300", 1400);
    const Silicon& s = bench.silicon();
    double seconds = 0;
    for (int round = 0; round < 150; ++round) {
      for (int slot = 0; slot < 10; ++slot) {
        const bool matmul = slot < matmul_slots;
        const Phase phase =
            matmul ? Phase{.flop = s.flop_per_s * 0.001, .activity = 1.0, .dram_share = 0.15}
                   : Phase{.bytes = s.bytes_per_s * 0.9 * 0.001, .activity = 0.1};
        const double took = bench.run(phase);
        if (round >= 50 && matmul) seconds += took;
      }
    }
    return 100.0 * matmul_slots / seconds;
  };
  const double always = rate(10);
  EXPECT_NEAR(rate(9) / always, 1.03, 0.02);
  EXPECT_NEAR(rate(8) / always, 1.09, 0.02);
  EXPECT_NEAR(rate(7) / always, 1.14, 0.02);
  EXPECT_NEAR(rate(5) / always, 1.19, 0.01);
  EXPECT_NEAR(rate(1) / always, 1.19, 0.01);
}

TEST(Simulation, HowOftenOneLooksDoesNotChangeTheJoules) {
  const auto run = [](std::int64_t step_ns) {
    Bench bench("a100", 300);
    for (int i = 0; i < 10; ++i) {
      post(*bench, {.flop = 312e12 * 0.3, .host_s = 0.0123, .pace_s = 0.4}, 1);
    }
    for (std::int64_t t = step_ns; t < 6 * kSecond; t += step_ns) bench.to(t);
    bench.to(6 * kSecond);
    return (*bench).energy_j;
  };
  const double once = run(7 * kSecond);
  EXPECT_NEAR(run(100'000'000) / once, 1, 1e-9);
  EXPECT_NEAR(run(777'777) / once, 1, 1e-9);
}

TEST(Simulation, SkippingQuietTimeIsExact) {
  // With a 1 s window no stretch is ever quiet; without load and cap neither window matters.
  Bench quick("h100", 700);
  Bench slow("h100", 700);
  slow.controls().window_ms = 1999;
  quick.to(60 * kSecond);
  slow.to(60 * kSecond);
  EXPECT_NEAR((*quick).energy_j / (*slow).energy_j, 1, 1e-9);
}

TEST(Simulation, WarmsUpAndLeaksMore) {
  Bench bench("h100", 700);
  begin(*bench, bench.silicon(), 30);
  post(*bench, {.flop = 1e20, .activity = 0.3}, 1);
  bench.to(kSecond);
  const double cold = (*bench).last_ms_power_w;
  bench.to(120 * kSecond);
  EXPECT_GT((*bench).temperature_c, 40);
  EXPECT_LT((*bench).temperature_c, 65);
  EXPECT_GT((*bench).last_ms_power_w, cold + 5);
}

TEST(Simulation, LockedClockBindsAtOnce) {
  Bench bench("h100", 700);
  post(*bench, {.flop = 1e20, .activity = 0.2}, 1);
  bench.to(kSecond);
  bench.controls().ceiling_mhz = 1200;
  bench.to(kSecond + kNsPerMs);
  EXPECT_DOUBLE_EQ((*bench).clock_mhz, 1200);
  EXPECT_FALSE((*bench).capped);
}

TEST(Simulation, QueueRunsInOrderAndRefusesWhenFull) {
  Bench bench("a100", 400);
  const std::uint64_t first = post(*bench, {.flop = 312e12 * 0.1, .activity = 0.2}, 1);
  const std::uint64_t second = post(*bench, {.flop = 312e12 * 0.1, .activity = 0.2}, 2);
  EXPECT_LT(first, second);
  bench.to(kSecond / 10 + kNsPerMs);
  EXPECT_EQ(time_left(*bench, bench.silicon(), first), 0);
  EXPECT_GT(time_left(*bench, bench.silicon(), second), 0);
  EXPECT_EQ((*bench).running_pid, 2);
  for (int i = 1; i < kQueueLength; ++i) EXPECT_NE(post(*bench, {.flop = 1}, 1), 0u);
  EXPECT_EQ(post(*bench, {.flop = 1}, 1), 0u);
  drop_phases(*bench);
  EXPECT_EQ(time_left(*bench, bench.silicon(), second), 0);
}

TEST(Simulation, EmptyPhaseEndsAtOnce) {
  Bench bench("a100", 400);
  const std::uint64_t ticket = post(*bench, {}, 1);
  bench.to(kNsPerMs);
  EXPECT_EQ(time_left(*bench, bench.silicon(), ticket), 0);
}

}  // namespace
}  // namespace perjoule::twin
