#include "meter/meter.h"

#include <gtest/gtest.h>

#include <cmath>

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
