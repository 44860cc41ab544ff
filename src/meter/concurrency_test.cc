// Everything at once: the sampler, windows from several threads, a live display and a measured
// command on one meter. The thread sanitizer reads these; without it they check that no joule is
// counted twice or lost.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "meter/command_run.h"
#include "meter/meter.h"
#include "meter/sampler.h"

namespace perjoule {
namespace {
using namespace literals;

/// 300 W on the real clock, from any thread.
class SteadySource final : public Source {
 public:
  SteadySource(std::string id, SourceKind kind, std::string overlaps, const Clock& clock)
      : clock_(clock) {
    info_.id = std::move(id);
    info_.device = "gpu:a";
    info_.backend = "steady";
    info_.scope = "board";
    info_.kind = kind;
    info_.overlaps = std::move(overlaps);
    info_.tick = Seconds(1e-3);
    info_.max_power = Watts(1000);
  }
  const SourceInfo& info() const noexcept override { return info_; }
  Reading read() noexcept override {
    reads_.fetch_add(1, std::memory_order_relaxed);
    if (info_.kind == SourceKind::kPowerGauge) return {ErrorCode::kOk, 300'000'000};
    return {ErrorCode::kOk, static_cast<std::uint64_t>(clock_.now().ns) * 3 / 10};  // 300 W in uJ
  }
  double busy() noexcept override { return 0.5; }
  int reads() const { return reads_.load(std::memory_order_relaxed); }

 private:
  const Clock& clock_;
  SourceInfo info_;
  std::atomic<int> reads_ = 0;
};

class Concurrency : public testing::Test {
 protected:
  RealClock clock_;
  SteadySource counter_{"gpu:a", SourceKind::kEnergyCounter, "", clock_};
  SteadySource gauge_{"gpu:a/power", SourceKind::kPowerGauge, "gpu:a", clock_};
  Meter meter_{{&counter_, &gauge_}, clock_, 1U << 16U};

  /// Opens and closes windows until told to stop; each must hold 300 W.
  void keep_measuring(const std::atomic<bool>& over, std::atomic<int>& windows) {
    while (!over.load()) {
      auto window = meter_.begin("step");
      if (!window) return;
      clock_.sleep_until(clock_.now() + 0.002_s);
      const Measurement so_far = window->so_far();
      const Measurement used = window->end();
      EXPECT_LE(so_far.duration, used.duration);
      const Energy total = used.total();
      EXPECT_LE(abs(total.joules - 300.0_W * used.duration), total.expanded_uncertainty());
      windows.fetch_add(1);
    }
  }
};

TEST_F(Concurrency, WindowsFromManyThreadsBesideTheSampler) {
  auto sampler = Sampler::start(meter_, 0.001_s);
  ASSERT_TRUE(sampler);
  std::atomic<bool> over = false;
  std::atomic<int> windows = 0;
  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([this, &over, &windows] { keep_measuring(over, windows); });
  std::uint64_t last = 0;
  for (int i = 0; i < 50; ++i) {
    clock_.sleep_until(clock_.now() + 0.005_s);
    const auto timeline = meter_.channels()[0]->timeline();
    ASSERT_NE(timeline, nullptr);
    if (timeline->size() == 0) continue;
    const std::uint64_t newest = timeline->total_micro(timeline->size() - 1);
    EXPECT_GE(newest, last);
    last = newest;
    EXPECT_LE((*sampler)->missed_ticks(), 10'000U);
  }
  over = true;
  threads.clear();
  (*sampler)->stop();
  EXPECT_GT(windows.load(), 20);
  EXPECT_GT(last, 0U);
}

TEST_F(Concurrency, AMeasuredCommandBesideOtherWindows) {
  std::atomic<bool> over = false;
  std::atomic<int> windows = 0;
  std::jthread other([this, &over, &windows] { keep_measuring(over, windows); });
  CommandOptions options;
  options.spawn.arguments = {"sleep", "0.2"};
  options.every = 0.001_s;
  options.progress_every = 0.01_s;
  std::atomic<int> reports = 0;
  options.progress = [&reports](const RunProgress& progress) {
    reports.fetch_add(1);
    EXPECT_GE(progress.energy.joules.value(), 0);
  };
  const auto result = run_command(meter_, options);
  over = true;
  other.join();
  ASSERT_TRUE(result) << result.error().text();
  const Measurement& used = result->measurement;
  EXPECT_LE(abs(used.total().joules - 300.0_W * used.duration),
            used.total().expanded_uncertainty());
  EXPECT_GT(reports.load(), 5);
  EXPECT_GT(windows.load(), 5);
}

TEST_F(Concurrency, OneWindowIsWatchedWhileItRuns) {
  auto sampler = Sampler::start(meter_, 0.001_s);
  ASSERT_TRUE(sampler);
  Window window = *meter_.begin("watched");
  // so_far() is for one thread at a time on one window; the meter below is shared.
  std::atomic<bool> over = false;
  std::jthread reader([this, &over] {
    while (!over.load()) {
      for (const auto& channel : meter_.channels()) channel->sample();
      meter_.notice_suspend();
    }
  });
  Joules before;
  for (int i = 0; i < 100; ++i) {
    const Joules now = window.so_far().total().joules;
    EXPECT_GE(now.value(), before.value() - 0.7);  // a tick of 1 ms at either end
    before = now;
  }
  over = true;
  reader.join();
  EXPECT_GT(window.end().total().joules.value(), 0);
}

}  // namespace
}  // namespace perjoule
