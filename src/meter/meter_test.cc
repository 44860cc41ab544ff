#include "meter/meter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "meter/fake_source.h"
#include "meter/sampler.h"

namespace perjoule {
namespace {
using namespace literals;

double steady(double) { return 300; }

TEST(Meter, AWindowIsTheCountersDifference) {
  VirtualClock clock{Instant{1'000'000'000}};
  FakeSource gpu(fake_counter("gpu:a", 0), clock, steady);
  Meter meter({&gpu}, clock);
  Window window = *meter.begin("x");
  clock.advance(2.0_s);
  const Measurement used = window.end();
  EXPECT_NEAR(used.total().joules.value(), 600, 1e-3);
  EXPECT_DOUBLE_EQ(used.duration.value(), 2);
  EXPECT_NEAR(used.mean_power().value(), 300, 1e-3);
  EXPECT_EQ(used.sync, SyncVerdict::kNotRequested);
}

TEST(Meter, WindowsNestAndOverlapAndPartsAddUp) {
  VirtualClock clock{Instant{1'000'000'000}};
  FakeSource gpu(fake_counter("gpu:a", 0), clock, [](double t) { return 100 + 50 * t; });
  Meter meter({&gpu}, clock);
  Window whole = *meter.begin("whole");
  Window first = *meter.begin("first");
  clock.advance(1.0_s);
  Window second = *meter.begin("second");
  const Measurement a = first.end();
  clock.advance(3.0_s);
  const Measurement b = second.end();
  const Measurement all = whole.end();
  EXPECT_NEAR(all.total().joules.value(), a.total().joules.value() + b.total().joules.value(),
              1e-3);
}

TEST(Meter, OnlySourcesThatOverlapNoOtherAreSummed) {
  VirtualClock clock{Instant{1'000'000'000}};
  SourceInfo core_info = fake_counter("cpu:0/core", 0);
  core_info.overlaps = "cpu:0/package";
  FakeSource package(fake_counter("cpu:0/package", 0), clock, steady);
  FakeSource core(core_info, clock, [](double) { return 200.0; });
  Meter meter({&package, &core}, clock);
  Window window = *meter.begin("x");
  clock.advance(1.0_s);
  const Measurement used = window.end();
  ASSERT_EQ(used.sources.size(), 2U);
  EXPECT_NEAR(used.total().joules.value(), 300, 1e-3);
  EXPECT_EQ(used.total().source, "cpu:0/package");
}

TEST(Meter, ASourceWithinAnotherCountsWhereItIsMeasuredAlone) {
  VirtualClock clock{Instant{1'000'000'000}};
  SourceInfo core_info = fake_counter("cpu:0/core", 0);
  core_info.overlaps = "cpu:0/package";
  FakeSource package(fake_counter("cpu:0/package", 0), clock, steady);
  FakeSource core(core_info, clock, [](double) { return 200.0; });
  Meter meter({&package, &core}, clock);
  Window window = *meter.begin("x", {.sync = {}, .sources = {"cpu:0/core"}});
  clock.advance(1.0_s);
  EXPECT_NEAR(window.end().total().joules.value(), 200, 1e-3);
}

TEST(Meter, AnUnknownSourceIsAnErrorWithItsName) {
  VirtualClock clock;
  Meter meter({}, clock);
  EXPECT_EQ(meter.begin("x", {.sync = {}, .sources = {"gpu:z"}}).error().message,
            "no such source: gpu:z");
}

TEST(Meter, TheUncertaintyCoversTheTickEdge) {
  // research: 1 s at 700 W with a 100 ms tick, unaligned: edge 28.6 J, gain 5 %: 20.2 J, together
  // +- 70 J.
  VirtualClock clock{Instant{1'030'000'000}};
  SourceInfo info = fake_counter("gpu:a", 0.1);
  info.gain = 0.05;
  FakeSource gpu(info, clock, [](double) { return 700.0; });
  Meter meter({&gpu}, clock);
  Window window = *meter.begin("x");
  clock.advance(1.0_s);
  const Measurement used = window.end();
  EXPECT_NEAR(used.sources[0].budget.edge.value(), 28.6, 0.05);
  EXPECT_NEAR(used.sources[0].budget.gain.value(), 20.2, 0.05);
  EXPECT_NEAR(used.total().expanded_uncertainty().value(), 70, 0.5);
  EXPECT_EQ(used.total().grade(), Grade::kC);
}

/// A GPU that ticks every 100 ms, beginning 30 ms before a tick, with a window of 1.037 s.
class AlignedWindow : public testing::Test {
 protected:
  Measurement measure(bool aligned, const std::vector<Source*>& sources) {
    Meter meter(sources, clock_);
    Window window = *meter.begin("x", {.tick_aligned = aligned});
    begun_ = clock_.now();
    clock_.advance(1.037_s);
    return window.end();
  }
  double truth(const FakeSource& source) const {
    const double from = static_cast<double>(begun_.ns) * 1e-9;
    return source.energy(from + 1.037) - source.energy(from);
  }
  VirtualClock clock_{Instant{1'070'000'000}};
  Instant begun_;
};

TEST_F(AlignedWindow, KnowsItsEdgesToThePollGap) {
  // research: aligned and 5 % gain, +- 41 J for 1 s at 700 W, nearly all of it gain; without the
  // gain, which two windows share, +- 0.6 J.
  SourceInfo info = fake_counter("gpu:a", 0.1);
  info.gain = 0.05;
  FakeSource gpu(info, clock_, [](double) { return 700.0; });
  const Measurement used = measure(true, {&gpu});
  EXPECT_TRUE(used.sources[0].tick_aligned);
  EXPECT_NEAR(used.duration.value(), 1.037, 1e-8);
  // Half a gap of 1 ms at either end at most.
  EXPECT_NEAR(used.total().joules.value(), 700 * 1.037, 0.71);
  EXPECT_LT(2 * used.total().random.value(), 1.2);
  EXPECT_NEAR(used.total().expanded_uncertainty().value(), 42, 0.5);
  EXPECT_GT(std::abs(measure(false, {&gpu}).total().joules.value() - truth(gpu)), 20);
}

TEST_F(AlignedWindow, TakesOffWhatLiesBetweenItsEndsAndTheTicksBeside) {
  // Idle before and after: interpolating within the tick of the jump would be 16 J wrong.
  double begin = 1e9;
  FakeSource gpu(fake_counter("gpu:a", 0.1), clock_,
                 [&begin](double t) { return t >= begin && t < begin + 1.037 ? 700.0 : 70.0; });
  Meter meter({&gpu}, clock_);
  Window window = *meter.begin("x", {.tick_aligned = true});
  begin = static_cast<double>(clock_.now().ns) * 1e-9;
  clock_.advance(1.037_s);
  const Energy used = window.end().total();
  // The fake source's own integral of such jumps is good to some 0.4 J.
  EXPECT_NEAR(used.joules.value(), 700 * 1.037, 0.5);
  EXPECT_LE(used.lower.value(), 700 * 1.037);
  EXPECT_GE(used.upper.value() + 0.4, 700 * 1.037);
}

TEST_F(AlignedWindow, WaitsForAllItsCountersTogether) {
  std::vector<std::unique_ptr<FakeSource>> gpus;
  std::vector<Source*> sources;
  for (int i = 0; i < 8; ++i) {
    gpus.push_back(
        std::make_unique<FakeSource>(fake_counter("gpu:" + std::to_string(i), 0.1 - 0.01 * i),
                                     clock_, [i](double) { return 100.0 * (i + 1); }));
    sources.push_back(gpus.back().get());
  }
  const Instant before = clock_.now();
  const Measurement used = measure(true, sources);
  EXPECT_LT((begun_ - before).value(), 0.21);  // two of the slowest, not sixteen
  EXPECT_LT((clock_.now() - begun_).value(), 1.037 + 0.21);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const double power = 100.0 * static_cast<double>(i + 1);
    EXPECT_TRUE(used.sources[i].tick_aligned) << i;
    EXPECT_NEAR(used.sources[i].energy.joules.value(), truth(*gpus[i]), 2e-3 * power) << i;
  }
}

TEST_F(AlignedWindow, ACounterThatDoesNotTickIsGivenUpAndSaid) {
  FakeSource stuck(fake_counter("gpu:a", 0.1), clock_, steady);
  FakeSource gpu(fake_counter("gpu:b", 0.1), clock_, steady);
  stuck.frozen_at = 1;
  const Measurement used = measure(true, {&stuck, &gpu});
  EXPECT_LT(begun_ - Instant{1'070'000'000}, 0.35_s);
  EXPECT_FALSE(used.sources[0].tick_aligned);
  EXPECT_EQ(used.sources[0].notes.back(), "did not tick in time: not aligned");
  EXPECT_TRUE(used.sources[1].tick_aligned);
}

TEST_F(AlignedWindow, ACalibratedCounterTicksWhenItMovesNotWhenItsOffsetGrows) {
  FakeSource gpu(fake_counter("gpu:a", 0.1), clock_, steady);
  Calibration calibration;
  calibration.source = "gpu:a";
  calibration.scale = 1;
  calibration.shift = Watts(20);
  Meter meter({&gpu}, clock_, 0, {calibration});
  Window window = *meter.begin("x", {.tick_aligned = true});
  clock_.advance(1.037_s);
  const Measurement used = window.end();
  EXPECT_TRUE(used.sources[0].tick_aligned);
  EXPECT_NEAR(used.total().joules.value(), 320 * 1.037, 0.4);
}

TEST_F(AlignedWindow, TheStateSoFarWaitsForNothing) {
  FakeSource gpu(fake_counter("gpu:a", 0.1), clock_, steady);
  Meter meter({&gpu}, clock_);
  Window window = *meter.begin("x", {.tick_aligned = true});
  clock_.advance(0.55_s);
  const Instant before = clock_.now();
  EXPECT_NEAR(window.so_far().total().joules.value(), 165, 30);
  EXPECT_EQ(clock_.now(), before);
}

TEST(Meter, AWindowBelowATickIsNeverAProudZero) {
  VirtualClock clock{Instant{1'030'000'000}};
  SourceInfo gauge_info = fake_counter("gpu:a/power", 0.1);
  gauge_info.kind = SourceKind::kPowerGauge;
  gauge_info.overlaps = "gpu:a";
  FakeSource gpu(fake_counter("gpu:a", 0.1), clock, steady);
  FakeSource gauge(gauge_info, clock, steady);
  Meter with_gauge({&gpu, &gauge}, clock);
  Window window = *with_gauge.begin("x", {.sync = {}, .sources = {"gpu:a"}});
  clock.advance(0.005_s);
  EXPECT_NEAR(window.end().total().joules.value(), 1.5,
              1e-6);  // from the gauge, not the counter's 0

  Meter without({&gpu}, clock);
  Window blind = *without.begin("y");
  clock.advance(0.005_s);
  const Energy bound = blind.end().total();
  EXPECT_GE(bound.upper.value(), 1.5);
}

TEST(Meter, ALostDeviceGivesALowerBoundAndTheTimeOfLoss) {
  VirtualClock clock{Instant{1'000'000'000}};
  FakeSource gpu(fake_counter("gpu:a", 0), clock, steady);
  Meter meter({&gpu}, clock);
  SampleSchedule schedule(meter, 0.1_s);
  Window window = *meter.begin("x");
  clock.advance(1.0_s);
  schedule.run(clock.now());
  gpu.code = ErrorCode::kUnavailable;
  clock.advance(1.0_s);
  const Measurement used = window.end();
  EXPECT_NEAR(used.total().joules.value(), 300, 1e-3);
  ASSERT_EQ(used.sources[0].notes.size(), 1U);
  EXPECT_EQ(used.sources[0].notes[0], "lost 1.00 s before the end (unavailable): lower bound");
  EXPECT_GE(used.total().upper.value(), 600);
  EXPECT_TRUE(used.total().lower_bound);
}

TEST(Meter, ACounterThatFreezesOnTheWayGivesALowerBound) {
  VirtualClock clock{Instant{1'000'000'000}};
  FakeSource gpu(fake_counter("gpu:a", 0.1), clock, steady);
  FakeSource other(fake_counter("gpu:b", 0.1), clock, steady);
  Meter meter({&gpu, &other}, clock);
  SampleSchedule schedule(meter, 0.1_s);
  Window window = *meter.begin("x");
  clock.advance(2.0_s);
  schedule.run(clock.now());
  EXPECT_FALSE(window.so_far().total().lower_bound);
  gpu.frozen_at = 3;
  clock.advance(3.0_s);
  schedule.run(clock.now());
  const Measurement used = window.end();
  EXPECT_TRUE(used.sources[0].energy.lower_bound);
  EXPECT_FALSE(used.sources[1].energy.lower_bound);
  EXPECT_TRUE(used.total().lower_bound);
  EXPECT_EQ(used.total().grade(), Grade::kD);
  EXPECT_TRUE(used.sources[0].notes.at(0).ends_with(": lower bound")) << used.sources[0].notes[0];
}

TEST(Meter, AWindowIsOpenedAndClosedByReadsOfItsOwn) {
  // An engine "drew twice the power" where the sample of the batch before was taken for the
  // beginning (atlas#1197): what the sampler saw before and after is no part of the window.
  VirtualClock clock{Instant{1'000'000'000}};
  FakeSource gpu(fake_counter("gpu:a", 0), clock, [](double t) { return t < 5 ? 600.0 : 300.0; });
  Meter meter({&gpu}, clock);
  for (const auto& channel : meter.channels()) channel->sample();
  clock.advance(4.0_s);  // the batch before, at 600 W; the sampler is late
  Window window = *meter.begin("x");
  const int reads = gpu.reads;
  clock.advance(2.0_s);
  const Measurement used = window.end();
  EXPECT_GT(gpu.reads, reads);
  EXPECT_NEAR(used.total().joules.value(), 600, 0.5);
}

TEST(Meter, AFrozenCounterIsMissingNotZero) {
  VirtualClock clock{Instant{1'000'000'000}};
  FakeSource gpu(fake_counter("gpu:a", 0.1), clock, steady);
  gpu.frozen_at = 1;
  Meter meter({&gpu}, clock);
  Window window = *meter.begin("x");
  clock.advance(5.0_s);
  const Measurement used = window.end();
  EXPECT_EQ(used.total().status, Status::kMissing);
  EXPECT_FALSE(used.total().lower_bound);
  EXPECT_NE(used.sources[0].notes.at(0).find("did not move for 5.00 s"), std::string::npos);
}

TEST(Meter, APermissionDeniedSourceIsMissing) {
  VirtualClock clock{Instant{1'000'000'000}};
  FakeSource gpu(fake_counter("gpu:a", 0), clock, steady);
  gpu.code = ErrorCode::kPermissionDenied;
  Meter meter({&gpu}, clock);
  Window window = *meter.begin("x");
  clock.advance(1.0_s);
  const Measurement used = window.end();
  EXPECT_EQ(used.total().status, Status::kMissing);
  EXPECT_EQ(used.sources[0].notes.at(0), "could not be read: permission_denied");
}

TEST(Meter, SuspendIsLeftOutAndSaid) {
  VirtualClock clock{Instant{1'000'000'000}};
  FakeSource gpu(fake_counter("gpu:a", 0), clock, steady);
  Meter meter({&gpu}, clock);
  Window window = *meter.begin("x");
  clock.advance(1.0_s);
  for (const auto& channel : meter.channels()) channel->sample();
  clock.suspend(3600.0_s);
  gpu.start_micro += 5e9;  // the counter went on while the machine slept
  meter.notice_suspend();
  for (const auto& channel : meter.channels()) channel->sample();
  clock.advance(1.0_s);
  const Measurement used = window.end();
  EXPECT_NEAR(used.total().joules.value(), 600, 1e-3);
  ASSERT_EQ(used.notes.size(), 1U);
  EXPECT_NE(used.notes[0].find("slept"), std::string::npos);
}

TEST(Meter, GaugesAreIntegratedBySamples) {
  VirtualClock clock{Instant{0}};
  SourceInfo info = fake_counter("gpu:a", 0.02);
  info.kind = SourceKind::kPowerGauge;
  FakeSource gauge(info, clock, [](double t) { return 200 + 100 * std::sin(t); });
  Meter meter({&gauge}, clock);
  SampleSchedule schedule(meter, 0.0_s);
  EXPECT_DOUBLE_EQ(schedule.period().value(), 0.02);
  Window window = *meter.begin("x");
  for (int i = 0; i < 500; ++i) {
    clock.advance(0.02_s);
    schedule.run(clock.now());
  }
  const Measurement used = window.end();
  const double truth = 200 * 10 + 100 * (1 - std::cos(10.0));
  EXPECT_NEAR(used.total().joules.value(), truth, 2);
}

TEST(Meter, TheSyncCallbackRunsBeforeTheClosingReadAndIsRecorded) {
  VirtualClock clock{Instant{1'000'000'000}};
  FakeSource gpu(fake_counter("gpu:a", 0), clock, steady);
  Meter meter({&gpu}, clock);
  Window window = *meter.begin("x", {.sync = [&clock]() -> Outcome {
                                 clock.advance(1.0_s);
                                 return {};
                               }});
  clock.advance(1.0_s);
  const Measurement used = window.end();
  EXPECT_EQ(used.sync, SyncVerdict::kSynchronised);
  EXPECT_NEAR(used.total().joules.value(), 600, 1e-3);
}

TEST(Meter, AWindowNobodySynchronisedOnABusyDeviceSaysSo) {
  VirtualClock clock{Instant{1'000'000'000}};
  FakeSource gpu(fake_counter("gpu:a", 0), clock, steady);
  gpu.busy_share = 0.9;
  Meter meter({&gpu}, clock);
  Window window = *meter.begin("x");
  clock.advance(1.0_s);
  const Measurement used = window.end();
  EXPECT_EQ(used.sync, SyncVerdict::kBusyAtEnd);
  EXPECT_FALSE(used.notes.empty());
}

TEST(SampleSchedule, NoSourceIsReadFasterThanItTicks) {
  VirtualClock clock{Instant{0}};
  FakeSource fast(fake_counter("cpu:0", 0.001), clock, steady);
  FakeSource slow(fake_counter("gpu:a", 0.1), clock, steady);
  Meter meter({&fast, &slow}, clock, 1 << 20);
  SampleSchedule schedule(meter, 0.001_s);
  for (int i = 0; i < 1000; ++i) {
    clock.advance(0.001_s);
    schedule.run(clock.now());
  }
  EXPECT_NEAR(fast.reads, 1000, 2);
  EXPECT_NEAR(slow.reads, 10, 1);
}

TEST(SampleSchedule, ACounterIsKeptUpHoweverSlowTheWantedCourse) {
  VirtualClock clock{Instant{0}};
  SourceInfo wraps = fake_counter("cpu:0", 0.001);
  wraps.modulus_micro = 65'532'610'987;
  wraps.max_power = 500.0_W;
  SourceInfo refreshed = fake_counter("cpu:1", 0.001);
  refreshed.upkeep = 50.0_s;  // perf's RAPL counters: a signed 32-bit difference in the kernel
  FakeSource first(wraps, clock, steady);
  FakeSource second(refreshed, clock, steady);
  Meter meter({&first, &second}, clock);
  for (const Seconds every : {0.0_s, 600.0_s}) {
    EXPECT_DOUBLE_EQ(SampleSchedule(meter, every).period().value(), 50) << every.value();
  }
}

TEST(SampleSchedule, CountersThatWrapAreKeptUpWithoutBeingAsked) {
  VirtualClock clock{Instant{0}};
  SourceInfo info = fake_counter("cpu:0", 0.001);
  info.modulus_micro = 65'532'610'987;
  info.max_power = 500.0_W;
  FakeSource dram(info, clock, steady);
  Meter meter({&dram}, clock);
  EXPECT_LE(SampleSchedule(meter, 0.0_s).period().value(), 60);
}
}  // namespace
}  // namespace perjoule
