// device/nvml_* and the meter on simulated GPUs: what each model shows, what its knobs obey, and
// what becomes of a window when the machine misbehaves. Time moves only by hand.
#include "nvml_on_twin.h"

#include "device/journal.h"
#include "device/nvml_knobs.h"
#include "meter/sampler.h"
#include "meter/sweep.h"
#include "twin/gpu_model.h"

namespace perjoule {
namespace {

TEST_F(NvmlOnTwin, EveryModelShowsItsSourcesTicksAndIds) {
  std::vector<std::string> keys;
  for (const auto& model : twin::gpu_models()) keys.emplace_back(model.key);
  discover_on(keys);
  EXPECT_TRUE(machine_.problems.empty());
  ASSERT_EQ(machine_.devices.size(), keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const twin::GpuModel& model = twin::gpu_models()[i];
    SCOPED_TRACE(model.key);
    const DeviceInfo& info = gpu(i).info();
    EXPECT_EQ(info.name, model.name);
    EXPECT_EQ(info.id, "gpu:" + world_->uuid(static_cast<int>(i)));
    EXPECT_EQ(info.index, static_cast<int>(i));
    EXPECT_EQ(info.pci, std::string("0000:") + "1018202830384048"[2 * i] +
                            "1018202830384048"[2 * i + 1] + ":00.0");
    std::vector<std::string> expected{info.id};
    if (model.support.power_fields) expected.push_back(info.id + "/power-instant");
    expected.push_back(info.id + "/power");
    if (model.support.memory_power) expected.push_back(info.id + "/memory-power");
    std::vector<std::string> ids;
    for (Source* source : gpu(i).sources()) {
      ids.push_back(source->info().id);
      EXPECT_NEAR(source->info().tick.value(), model.sensor.tick_ms * 1e-3, 1e-9);
      EXPECT_EQ(source->info().status, Status::kSimulated);
      EXPECT_EQ(source->info().overlaps, ids.size() == 1 ? "" : info.id);
      EXPECT_NEAR(source->info().max_power.value(), 2 * model.limit_max_w, 1e-9);
    }
    EXPECT_EQ(ids, expected);
    EXPECT_EQ(gpu(i).sources().front()->info().kind, SourceKind::kEnergyCounter);
  }
}

TEST_F(NvmlOnTwin, TheCounterFollowsTheTruth) {
  discover_on({"v100", "a100", "h100", "gb300"});
  for (int device = 0; device < 4; ++device) load(device);
  pass(2.03_s);
  Meter meter(machine_.sources(), *clock_);
  Window window = *meter.begin("x");
  std::vector<Joules> before;
  for (int device = 0; device < 4; ++device) before.push_back(world_->truth(device));
  pass(3.017_s);
  const Measurement used = window.end();
  Joules truth;
  for (int device = 0; device < 4; ++device) {
    const Joules one = world_->truth(device) - before[static_cast<std::size_t>(device)];
    truth += one;
    const std::string& id = gpu(static_cast<std::size_t>(device)).info().id;
    for (const SourceMeasurement& source : used.sources) {
      if (source.info.id != id) continue;
      const Joules tick_energy = source.info.tick * (one / used.duration);
      EXPECT_NEAR(source.energy.joules.value(), one.value(), tick_energy.value()) << id;
    }
  }
  EXPECT_NEAR(used.total().joules.value(), truth.value(),
              used.total().expanded_uncertainty().value());
  EXPECT_EQ(used.total().status, Status::kSimulated);
  EXPECT_EQ(used.sync, SyncVerdict::kBusyAtEnd);  // the load goes on
}

TEST_F(NvmlOnTwin, ThePowerLimitIsSetReadBackAndCappedFromOutside) {
  discover_on({"h100"});
  Knob* limit = knob("power limit");
  ASSERT_NE(limit, nullptr);
  EXPECT_EQ(limit->info().default_value, "700 W");
  EXPECT_EQ(*limit->get(), "700 W");
  ASSERT_TRUE(limit->set("350 W"));
  EXPECT_EQ(*limit->get(), "350 W");
  EXPECT_EQ(*limit->enforced(), "350 W");
  fault("cap:value=300");
  EXPECT_EQ(*limit->get(), "350 W");
  EXPECT_EQ(*limit->enforced(), "300 W");
  EXPECT_EQ(gpu().state().power_limit, 300.0_W);
  {
    KnobJournal journal = *KnobJournal::open(journal_folder(), machine_);
    EXPECT_EQ(*journal.turn(*limit, "400 W"), "300 W");
  }
  EXPECT_EQ(*limit->get(), "350 W");  // as the journal found it
}

TEST_F(NvmlOnTwin, ASweepSaysWhichLimitWasInForce) {
  discover_on({"h100"});
  fault("cap:value=300");
  KnobJournal journal = *KnobJournal::open(journal_folder(), machine_);
  SweepOptions options;
  options.axes = {{SweepAxis::Kind::kKnob, "power limit", {"250 W", "400 W"}}};
  options.command.spawn.arguments = {"true"};
  const auto result = sweep(machine_, *clock_, journal, options, {});
  ASSERT_TRUE(result) << result.error().text();
  ASSERT_EQ(result->trials.size(), 2U);
  EXPECT_EQ(joined(result->trials[0].notes).find("in force"), std::string::npos);
  EXPECT_NE(joined(result->trials[1].notes).find("asked for 400 W, 300 W is in force"),
            std::string::npos);
  EXPECT_EQ(*knob("power limit")->get(), "700 W");
}

TEST_F(NvmlOnTwin, APowerProfileIsRequestedReadBackAndPutBack) {
  discover_on({"gb300", "h100"});
  Knob* profile = knob("power profile");
  ASSERT_NE(profile, nullptr);
  EXPECT_EQ(profile->info().device, gpu(0).info().id);  // the H100 has none
  EXPECT_EQ(profile->info().choices[0], "none");
  EXPECT_EQ(*profile->get(), "none");
  ASSERT_TRUE(profile->set("llm-training+max-q"));
  EXPECT_EQ(*profile->get(), "max-q+llm-training");
  {
    auto journal = KnobJournal::open(journal_folder(), machine_);
    ASSERT_TRUE(journal);
    EXPECT_EQ(*journal->turn(*profile, "max-p+max-q"), "max-p");  // the driver lets one win
    EXPECT_EQ(*profile->get(), "max-p+max-q");
  }
  EXPECT_EQ(*profile->get(), "max-q+llm-training");
  ASSERT_TRUE(profile->set("none"));
  EXPECT_EQ(*profile->get(), "none");
  const Outcome odd = profile->set("warp");
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(odd.error().text().find("'warp' is no choice of its; there are none, max-p"),
            std::string::npos)
      << odd.error().text();
}

TEST_F(NvmlOnTwin, WithoutTheCallsThereAreNoPowerProfiles) {
  discover_on({"gb300"});
  rediscover_without({"nvmlDeviceWorkloadPowerProfileGetProfilesInfo"});
  EXPECT_EQ(knob("power profile"), nullptr);
  rediscover_without({"nvmlDeviceWorkloadPowerProfileSetRequestedProfiles"});
  ASSERT_NE(knob("power profile"), nullptr);
  EXPECT_EQ(knob("power profile")->set("max-q").error().code, ErrorCode::kNotSupported);
}

TEST_F(NvmlOnTwin, ASweepTakesPowerProfilesAndChecksThemFirst) {
  discover_on({"gb300"});
  auto journal = KnobJournal::open(journal_folder(), machine_);
  ASSERT_TRUE(journal);
  SweepOptions options;
  options.axes = {{SweepAxis::Kind::kKnob, "power profile", {"llm-training+max-q", "max-p+max-q"}}};
  options.command.spawn.arguments = {"true"};
  const auto swept = sweep(machine_, *clock_, *journal, options, {});
  ASSERT_TRUE(swept) << swept.error().text();
  ASSERT_EQ(swept->trials.size(), 2U);
  EXPECT_EQ(joined(swept->trials[0].notes).find("in force"), std::string::npos);
  EXPECT_NE(joined(swept->trials[1].notes).find("asked for max-p+max-q, max-p is in force"),
            std::string::npos);
  EXPECT_EQ(*knob("power profile")->get(), "none");
  options.axes[0].values = {"none", "warp"};
  EXPECT_EQ(sweep(machine_, *clock_, *journal, options, {}).error().code,
            ErrorCode::kInvalidArgument);
}

TEST_F(NvmlOnTwin, RefusalsNameTheKnobAndTheRemedy) {
  discover_on({"h100"});
  Knob* limit = knob("power limit");
  const Outcome low = limit->set("199 W");
  ASSERT_FALSE(low);
  EXPECT_EQ(low.error().code, ErrorCode::kOutOfRange);
  EXPECT_NE(low.error().message.find("199 W is outside 200 to 700 W"), std::string::npos);
  EXPECT_EQ(limit->set("much").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(knob("clock")->set("2500 MHz").error().code, ErrorCode::kOutOfRange);
  fault("no-permission");
  for (const auto& [name, value] : {std::pair{"power limit", "400 W"},
                                    {"clock", "990 MHz"},
                                    {"clock", "unlocked"},
                                    {"memory clock", "2619 MHz"}}) {
    const Outcome denied = knob(name)->set(value);
    ASSERT_FALSE(denied) << name;
    EXPECT_EQ(denied.error().code, ErrorCode::kPermissionDenied) << name;
    EXPECT_NE(denied.error().remedy.find("root"), std::string::npos);
  }
  EXPECT_EQ(*limit->get(), "700 W");
}

TEST_F(NvmlOnTwin, ClocksAreListedLockedAndReleased) {
  discover_on({"h100", "v100"});
  const auto library = *NvmlLibrary::open(twin::standin_path());
  const std::vector<unsigned> clocks = nvml_graphics_clocks(*library, device());
  ASSERT_FALSE(clocks.empty());
  EXPECT_EQ(clocks.front(), 1980U);
  EXPECT_EQ(clocks.back(), 345U);
  EXPECT_EQ(clocks.size(), (1980U - 345U) / 15 + 1);
  Knob* lock = knob("clock");
  EXPECT_EQ(*lock->get(), "unlocked");
  load();
  pass(1.0_s);
  EXPECT_GT(gpu().state().clock->value(), 1.2e9);
  ASSERT_TRUE(lock->set("990 MHz"));
  pass(1.0_s);
  EXPECT_DOUBLE_EQ(gpu().state().clock->value(), 990e6);
  EXPECT_EQ(gpu().state().throttle_reasons, std::vector<std::string>{"application clocks"});
  EXPECT_EQ(*lock->get(), "990 MHz");
  ASSERT_TRUE(lock->set("unlocked"));
  pass(1.0_s);
  EXPECT_GT(gpu().state().clock->value(), 1.2e9);
  // Volta cannot lock its memory clock.
  for (Knob* one : gpu(1).knobs()) EXPECT_NE(one->info().name, "memory clock");
}

TEST_F(NvmlOnTwin, ProcessListsOfEveryLayout) {
  discover_on({"h100"});
  ASSERT_TRUE(world_->attach(0, static_cast<int>(::getpid()), 3ULL << 30U));
  ASSERT_TRUE(world_->attach(0, 1, 5ULL << 20U));
  for (const char* layout : {"stride:value=16", "stride:value=24", "stride:value=32"}) {
    SCOPED_TRACE(layout);
    fault(layout);
    const auto processes = gpu().processes();
    ASSERT_TRUE(processes) << processes.error().text();
    ASSERT_EQ(processes->size(), 2U);
    EXPECT_EQ((*processes)[0].pid, ::getpid());
    EXPECT_EQ((*processes)[0].memory_bytes, 3ULL << 30U);
    EXPECT_EQ((*processes)[1].pid, 1);
    EXPECT_EQ((*processes)[1].memory_bytes, 5ULL << 20U);
  }
}

TEST_F(NvmlOnTwin, UtilisationOfPidsThatAreNotListedBelongsToNoneThatIs) {
  // Two calls that answer in two pid namespaces (HAMi-core#112).
  discover_on({"h100"});
  constexpr int kOfAnotherNamespace = 4'194'300;
  ASSERT_TRUE(world_->begin_phase(0, {.flop = 1e22, .activity = 0.8}, kOfAnotherNamespace));
  ASSERT_TRUE(world_->attach(0, static_cast<int>(::getpid()), 1ULL << 30U));
  pass(2.0_s);
  const auto held = gpu().processes();
  ASSERT_TRUE(held) << held.error().text();
  ASSERT_EQ(held->size(), 1U);
  EXPECT_EQ(held->front().pid, ::getpid());
  EXPECT_DOUBLE_EQ(held->front().utilisation, 0);
}

TEST_F(NvmlOnTwin, AMissingSymbolIsAnAbsentFeature) {
  discover_on({"h100"});
  load();
  pass(2.0_s);
  rediscover_without({"nvmlDeviceGetTotalEnergyConsumption"});
  EXPECT_EQ(gpu().sources().front()->info().kind, SourceKind::kPowerGauge);
  EXPECT_EQ(gpu().sources().front()->info().id, gpu().info().id);
  rediscover_without({"nvmlDeviceGetFieldValues"});
  ASSERT_EQ(gpu().sources().size(), 2U);
  EXPECT_EQ(gpu().sources()[1]->info().id, gpu().info().id + "/power");
  rediscover_without({"nvmlDeviceSetPowerManagementLimit", "nvmlDeviceSetGpuLockedClocks"});
  EXPECT_EQ(knob("clock"), nullptr);
  EXPECT_EQ(knob("power limit")->set("400 W").error().code, ErrorCode::kNotSupported);
  rediscover_without({"nvmlDeviceGetComputeRunningProcesses_v3"});
  ASSERT_TRUE(gpu().processes());
  EXPECT_EQ(gpu().processes()->size(), 1U);
  rediscover_without({"nvmlDeviceGetComputeRunningProcesses_v3",
                      "nvmlDeviceGetComputeRunningProcesses_v2",
                      "nvmlDeviceGetComputeRunningProcesses"});
  EXPECT_EQ(gpu().processes().error().code, ErrorCode::kNotSupported);
  rediscover_without({"nvmlDeviceGetUtilizationRates", "nvmlDeviceGetTemperatureV",
                      "nvmlDeviceGetCurrentClocksEventReasons"});
  const DeviceState state = gpu().state();
  EXPECT_FALSE(state.utilisation);
  EXPECT_TRUE(state.temperature);  // by the older call
  EXPECT_LT(gpu().sources().front()->busy(), 0);
  rediscover_without({"nvmlInit_v2"});
  EXPECT_TRUE(machine_.devices.empty());
  ASSERT_EQ(machine_.problems.size(), 1U);
  EXPECT_EQ(machine_.problems[0].error.code, ErrorCode::kNotSupported);
}

TEST_F(NvmlOnTwin, EveryReturnCodeOfTheCounterIsOurCodeAndANote) {
  const std::pair<int, const char*> codes[] = {
      {3, "not_supported"}, {4, "permission_denied"}, {6, "not_found"},          {10, "timeout"},
      {15, "unavailable"},  {16, "unavailable"},      {17, "permission_denied"}, {21, "not_found"},
      {27, "unavailable"},  {999, "unavailable"}};
  discover_on({"h100"});
  load();
  pass(2.0_s);
  for (const auto& [code, word] : codes) {
    SCOPED_TRACE(code);
    Meter meter(machine_.sources(), *clock_);
    Window window = *meter.begin("x", {.sources = {gpu().info().id}});
    pass(1.0_s);
    for (const auto& channel : meter.channels()) channel->sample();
    fault(("return:call=nvmlDeviceGetTotalEnergyConsumption,code=" + std::to_string(code)).c_str());
    pass(1.0_s);
    EXPECT_EQ(name_of(gpu().sources().front()->read().code), word);
    const SourceMeasurement used = window.end().sources.at(0);
    EXPECT_NE(joined(used.notes).find(std::string("lost 1.00 s before the end (") + word + ")"),
              std::string::npos)
        << joined(used.notes);
    EXPECT_GT(used.energy.joules.value(), 300);  // what was seen until then
    world_->clear_faults();
  }
}

TEST_F(NvmlOnTwin, ALostGpuGivesALowerBoundAndTheLastGoodTime) {
  discover_on({"h100"});
  load();
  pass(2.0_s);
  Meter meter(machine_.sources(), *clock_);
  SampleSchedule schedule(meter, 0.1_s);
  Window window = *meter.begin("x", {.sources = {gpu().info().id}});
  const Joules before = world_->truth(0);
  fault("lost:gpu=0,at=4.05s");
  for (int i = 0; i < 50; ++i) {
    pass(0.1_s);
    schedule.run(clock_->now());
  }
  const SourceMeasurement used = window.end().sources.at(0);
  EXPECT_NE(joined(used.notes).find("lost 3.00 s before the end (unavailable): lower bound"),
            std::string::npos)
      << joined(used.notes);
  const Joules truth = world_->truth(0) - before;
  EXPECT_LT(used.energy.joules, truth * 0.5);
  EXPECT_GT(used.energy.joules, truth * 0.35);
  EXPECT_GT(used.energy.upper, truth);
  EXPECT_EQ(used.energy.status, Status::kSimulated);
  // What is gone cannot be opened any more, and says why.
  rediscover(twin::standin_path());
  for (Source* source : machine_.sources()) EXPECT_NE(source->read().code, ErrorCode::kOk);
}

TEST_F(NvmlOnTwin, AFrozenCounterIsALowerBoundOrNothing) {
  discover_on({"h100"});
  load();
  pass(2.0_s);
  fault("freeze:gpu=0,from=3.95s");
  // Two reads alone cannot tell when the counter stopped; the sampler's can.
  Meter meter(machine_.sources(), *clock_);
  SampleSchedule schedule(meter, 0.1_s);
  Window window = *meter.begin("x", {.sources = {gpu().info().id}});
  const Joules before = world_->truth(0);
  for (int i = 0; i < 50; ++i) {
    pass(0.1_s);
    schedule.run(clock_->now());
  }
  const SourceMeasurement partly = window.end().sources.at(0);
  EXPECT_NE(joined(partly.notes).find("did not move for 3.10 s: lower bound"), std::string::npos)
      << joined(partly.notes);
  EXPECT_GT(partly.energy.upper, world_->truth(0) - before);
  const SourceMeasurement wholly = measure(5.0_s);
  EXPECT_EQ(wholly.energy.status, Status::kMissing);
}

TEST_F(NvmlOnTwin, ABackwardsStepAndAResetAreNeverNegative) {
  discover_on({"h100", "h100"});
  load(0);
  load(1);
  pass(5.0_s);
  fault("step-back:gpu=0,at=6.05s,value=5");
  fault("reset:gpu=1,at=6.05s");
  Meter meter(machine_.sources(), *clock_);
  SampleSchedule schedule(meter, 0.1_s);
  Window window = *meter.begin("x");
  const Joules before[] = {world_->truth(0), world_->truth(1)};
  for (int i = 0; i < 30; ++i) {
    pass(0.1_s);
    schedule.run(clock_->now());
  }
  const Measurement used = window.end();
  int seen = 0;
  for (const SourceMeasurement& source : used.sources) {
    for (int device = 0; device < 2; ++device) {
      if (source.info.id != gpu(static_cast<std::size_t>(device)).info().id) continue;
      ++seen;
      const Joules truth = world_->truth(device) - before[device];
      EXPECT_GT(source.energy.joules, truth * 0.9);
      EXPECT_LT(source.energy.joules, truth * 1.1);
      if (device == 1) {
        EXPECT_NE(joined(source.notes).find("was reset: lower bound"), std::string::npos)
            << joined(source.notes);
      }
    }
  }
  EXPECT_EQ(seen, 2);
}

TEST_F(NvmlOnTwin, MigIsSaid) {
  discover_on({"h100"});
  fault("mig:gpu=0,value=3");
  rediscover(twin::standin_path());
  EXPECT_NE(gpu().info().note.find("MIG is on"), std::string::npos);
  EXPECT_FALSE(gpu().sources().empty());  // the whole GPU is still measured
}

TEST_F(NvmlOnTwin, WithoutACounterTheGaugeIsIntegratedAndNeverZero) {
  discover_on({"v100", "h100"});
  for (int device = 0; device < 2; ++device) {
    world_->mapping().block().devices[device].support.energy_counter = false;
    load(device);
  }
  rediscover(twin::standin_path());
  pass(3.0_s);
  Meter meter(machine_.sources(), *clock_);
  SampleSchedule schedule(meter, 0.0_s);
  Window window = *meter.begin("x");
  const Joules before[] = {world_->truth(0), world_->truth(1)};
  for (int i = 0; i < 200; ++i) {
    pass(0.02_s);
    schedule.run(clock_->now());
  }
  const Measurement used = window.end();
  int seen = 0;
  for (const SourceMeasurement& source : used.sources) {
    for (int device = 0; device < 2; ++device) {
      if (source.info.id != gpu(static_cast<std::size_t>(device)).info().id) continue;
      ++seen;
      EXPECT_EQ(source.info.kind, SourceKind::kPowerGauge);
      const Joules truth = world_->truth(device) - before[device];
      EXPECT_NEAR(source.energy.joules.value() / truth.value(), 1, 0.02);
    }
  }
  EXPECT_EQ(seen, 2);
  EXPECT_GT(measure(0.004_s).energy.joules.value(), 0);  // shorter than any tick
}

TEST_F(NvmlOnTwin, SlowCallsAreNotCountedAsWork) {
  discover_on({"h100", "h100", "h100", "h100"});
  for (int device = 0; device < 4; ++device) load(device);
  pass(2.0_s);
  fault("slow:call=nvmlDeviceGetTotalEnergyConsumption,delay=50ms");
  Meter meter(machine_.sources(), *clock_);
  WindowOptions counters;
  for (const auto& one : machine_.devices) counters.sources.push_back(one->info().id);
  Window window = *meter.begin("x", counters);
  Joules before;
  for (int device = 0; device < 4; ++device) before += world_->truth(device);
  pass(1.0_s);
  Joules truth;
  for (int device = 0; device < 4; ++device) truth += world_->truth(device);
  truth = truth - before;
  const Measurement used = window.end();
  EXPECT_NEAR(used.duration.value(), 1, 1e-6);
  // The last GPU is read 200 ms after the first: that is no second of work.
  EXPECT_NEAR(used.total().joules.value() / truth.value(), 1, 0.07);
  EXPECT_GE(used.total().expanded_uncertainty(), abs(used.total().joules - truth));
}

}  // namespace
}  // namespace perjoule
