// What clients rely on, through the ABI alone: values, protocols and faults.
#include <cstring>

#include "twin/standin.h"
#include "twin/standin_client.h"

namespace perjoule::twin {
namespace {

using nvml::Device;
using Standin = StandinTest;

TEST_F(Standin, CountsAndFindsDevices) {
  start({"h100", "h100", "a100"});
  unsigned count = 0;
  ASSERT_EQ(call("nvmlDeviceGetCount_v2", &count), nvml::kSuccess);
  EXPECT_EQ(count, 3u);
  Device none = nullptr;
  EXPECT_EQ(call("nvmlDeviceGetHandleByIndex_v2", 3u, &none), nvml::kInvalidArgument);
  char uuid[96];
  ASSERT_EQ(call("nvmlDeviceGetUUID", device(1), uuid, unsigned{sizeof uuid}), nvml::kSuccess);
  EXPECT_EQ(std::strncmp(uuid, "GPU-", 4), 0);
  EXPECT_EQ(std::strlen(uuid), 40u);
  Device again = nullptr;
  ASSERT_EQ(call("nvmlDeviceGetHandleByUUID", static_cast<const char*>(uuid), &again),
            nvml::kSuccess);
  EXPECT_EQ(again, device(1));
  nvml::PciInfo pci;
  ASSERT_EQ(call("nvmlDeviceGetPciInfo_v3", device(2), &pci), nvml::kSuccess);
  EXPECT_STREQ(pci.bus_id, "00000000:20:00.0");
  EXPECT_STREQ(pci.bus_id_legacy, "0000:20:00.0");
  for (const char* id : {"00000000:20:00.0", "0000:20:00.0", "0:20:0.0", "20:00.0"}) {
    ASSERT_EQ(call("nvmlDeviceGetHandleByPciBusId_v2", id, &again), nvml::kSuccess) << id;
    EXPECT_EQ(again, device(2));
  }
  char version[96];
  ASSERT_EQ(call("nvmlSystemGetDriverVersion", version, unsigned{sizeof version}), nvml::kSuccess);
  EXPECT_NE(std::strstr(version, "simulated"), nullptr);
  char shorter[4];
  EXPECT_EQ(call("nvmlDeviceGetName", device(), shorter, unsigned{sizeof shorter}),
            nvml::kInsufficientSize);
}

TEST_F(Standin, SaysUninitializedBeforeInitAndAfterTheLastShutdown) {
  start({"h100"});
  const Device handle = device();
  ASSERT_EQ(call("nvmlInitWithFlags", 0u), nvml::kSuccess);  // the second user
  ASSERT_EQ(call("nvmlShutdown"), nvml::kSuccess);
  EXPECT_GT(get("nvmlDeviceGetPowerManagementLimit", handle), 0u);
  ASSERT_EQ(call("nvmlShutdown"), nvml::kSuccess);
  unsigned value = 0;
  EXPECT_EQ(call("nvmlDeviceGetPowerUsage", handle, &value), nvml::kUninitialized);
  EXPECT_EQ(call("nvmlShutdown"), nvml::kUninitialized);
}

TEST_F(Standin, WithoutAMachineTheDriverIsNotLoaded) {
  start({"h100"});
  ASSERT_EQ(call("nvmlShutdown"), nvml::kSuccess);
  setenv(kEnvironmentVariable, "/nonexistent", 1);
  EXPECT_EQ(call("nvmlInit_v2"), nvml::kDriverNotLoaded);
}

TEST_F(Standin, EnergyFollowsTheWorkAndTheTruth) {
  start({"h100"});
  ASSERT_TRUE(world_->advance(Seconds(1)));
  const auto before = get<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption", device());
  const Joules truth = world_->truth(0);
  ASSERT_EQ(call("perjoule_twin_run", 0u, 989e12, 0.0, 0.5), nvml::kSuccess);
  const auto after = get<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption", device());
  const double used = (world_->truth(0) - truth).value();
  EXPECT_GT(used, 300);
  EXPECT_NEAR(static_cast<double>(after - before) * 1e-3, used, 80);  // one tick at either end
  EXPECT_NEAR(get("nvmlDeviceGetPowerUsage", device()) * 1e-3, used, 60);
  nvml::Utilization rates;
  ASSERT_EQ(call("nvmlDeviceGetUtilizationRates", device(), &rates), nvml::kSuccess);
  EXPECT_EQ(rates.gpu, 100u);
}

TEST_F(Standin, LimitsAreCheckedReadBackAndEnforced) {
  start({"h100"});
  unsigned min = 0;
  unsigned max = 0;
  ASSERT_EQ(call("nvmlDeviceGetPowerManagementLimitConstraints", device(), &min, &max),
            nvml::kSuccess);
  EXPECT_EQ(min, 200000u);
  EXPECT_EQ(max, 700000u);
  EXPECT_EQ(call("nvmlDeviceSetPowerManagementLimit", device(), 199999u), nvml::kInvalidArgument);
  EXPECT_EQ(call("nvmlDeviceSetPowerManagementLimit", device(), 350000u), nvml::kSuccess);
  EXPECT_EQ(get("nvmlDeviceGetPowerManagementLimit", device()), 350000u);
  EXPECT_EQ(get("nvmlDeviceGetEnforcedPowerLimit", device()), 350000u);
  fault("cap:value=300");
  EXPECT_EQ(get("nvmlDeviceGetPowerManagementLimit", device()), 350000u);
  EXPECT_EQ(get("nvmlDeviceGetEnforcedPowerLimit", device()), 300000u);
  ASSERT_EQ(call("perjoule_twin_run", 0u, 989e12 * 3, 0.0, 1.0), nvml::kSuccess);
  EXPECT_NEAR(get("nvmlDeviceGetPowerUsage", device()) * 1e-3, 300, 6);
  fault("no-permission");
  EXPECT_EQ(call("nvmlDeviceSetPowerManagementLimit", device(), 400000u), nvml::kNoPermission);
  EXPECT_EQ(call("nvmlDeviceSetGpuLockedClocks", device(), 500u, 900u), nvml::kNoPermission);
}

TEST_F(Standin, LimitsAreForgottenWithTheDriverUnlessPersistent) {
  start({"h100"});
  ASSERT_EQ(call("nvmlDeviceSetPowerManagementLimit", device(), 350000u), nvml::kSuccess);
  ASSERT_EQ(call("nvmlShutdown"), nvml::kSuccess);
  ASSERT_EQ(call("nvmlInit_v2"), nvml::kSuccess);
  EXPECT_EQ(get("nvmlDeviceGetPowerManagementLimit", device()), 350000u);
  ASSERT_EQ(call("nvmlDeviceSetPersistenceMode", device(), 0u), nvml::kSuccess);
  ASSERT_EQ(call("nvmlShutdown"), nvml::kSuccess);
  ASSERT_EQ(call("nvmlInit_v2"), nvml::kSuccess);
  EXPECT_EQ(get("nvmlDeviceGetPowerManagementLimit", device()), 700000u);
}

TEST_F(Standin, LockedClocksHoldTheWorkBack) {
  start({"h100"});
  EXPECT_EQ(call("nvmlDeviceSetGpuLockedClocks", device(), 900u, 500u), nvml::kInvalidArgument);
  EXPECT_EQ(call("nvmlDeviceSetGpuLockedClocks", device(), 0xffffff01u, 900u),
            nvml::kInvalidArgument);
  ASSERT_EQ(call("nvmlDeviceSetGpuLockedClocks", device(), 345u, 990u), nvml::kSuccess);
  const Seconds begin = world_->now();
  ASSERT_EQ(call("perjoule_twin_run", 0u, 989e12 * 0.5, 0.0, 0.3), nvml::kSuccess);
  EXPECT_NEAR((world_->now() - begin).value(), 1.0, 1e-6);
  unsigned clock = 0;
  ASSERT_EQ(call("nvmlDeviceGetClockInfo", device(), nvml::kClockSm, &clock), nvml::kSuccess);
  EXPECT_EQ(clock, 990u);
  const auto reasons = get<unsigned long long>("nvmlDeviceGetCurrentClocksEventReasons", device());
  EXPECT_TRUE(reasons & nvml::kReasonApplicationClocks);
  ASSERT_EQ(call("nvmlDeviceResetGpuLockedClocks", device()), nvml::kSuccess);
}

TEST_F(Standin, ThrottleReasonAndViolationTimeUnderTheCap) {
  start({"h100"});
  EXPECT_EQ(get<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons", device()),
            nvml::kReasonIdle);
  ASSERT_TRUE(world_->begin_phase(0, {.flop = 1e18}));
  ASSERT_TRUE(world_->advance(Seconds(2)));
  EXPECT_EQ(get<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons", device()),
            nvml::kReasonSoftwarePowerCap);
  nvml::ViolationTime time;
  ASSERT_EQ(call("nvmlDeviceGetViolationStatus", device(), 0u, &time), nvml::kSuccess);
  EXPECT_NEAR(static_cast<double>(time.violation_ns) * 1e-9, 2, 0.1);
}

TEST_F(Standin, FieldValuesEachWithTheirOwnResult) {
  start({"h100", "v100", "gb300"});
  ASSERT_TRUE(world_->advance(Seconds(2)));
  nvml::FieldValue fields[4] = {};
  fields[0].field_id = nvml::kFieldPowerInstant;
  fields[1].field_id = nvml::kFieldEnergy;
  fields[2].field_id = 9999;
  fields[3].field_id = nvml::kFieldPowerInstant;
  fields[3].scope_id = nvml::kScopeMemory;
  ASSERT_EQ(call("nvmlDeviceGetFieldValues", device(), 4, &fields[0]), nvml::kSuccess);
  EXPECT_EQ(fields[0].result, nvml::kSuccess);
  EXPECT_EQ(fields[0].value_type, nvml::kValueUnsigned);
  EXPECT_GT(fields[0].value.u32, 60000u);
  EXPECT_EQ(fields[1].value_type, nvml::kValueUnsignedLongLong);
  EXPECT_EQ(fields[1].value.u64,
            get<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption", device()));
  EXPECT_EQ(fields[2].result, nvml::kNotSupported);
  EXPECT_EQ(fields[3].result, nvml::kNotSupported);
  // Volta has none of 185 to 192; the call fails when all fields do.
  EXPECT_EQ(call("nvmlDeviceGetFieldValues", device(1), 1, &fields[0]), nvml::kNotSupported);
  fields[0].scope_id = nvml::kScopeModule;
  ASSERT_EQ(call("nvmlDeviceGetFieldValues", device(2), 1, &fields[0]), nvml::kSuccess);
  EXPECT_GT(fields[0].value.u32, 400000u);
}

TEST_F(Standin, FieldNumbersFollowTheDriver) {
  start({"h100"});
  const auto works = [&](unsigned id) {
    nvml::FieldValue field = {};
    field.field_id = id;
    return call("nvmlDeviceGetFieldValues", device(), 1, &field) == nvml::kSuccess;
  };
  fault("driver:value=570.12");
  EXPECT_FALSE(works(251) || works(269));
  fault("driver:value=580.65");
  EXPECT_TRUE(works(251) && !works(269));
  fault("driver:value=590.10");
  EXPECT_TRUE(!works(251) && works(269));
}

TEST_F(Standin, SamplesBufferIsReadFromTheLastSeen) {
  start({"v100"});
  ASSERT_TRUE(world_->advance(Seconds(1)));
  unsigned type = 0;
  unsigned count = 0;
  nvml::Sample* const none = nullptr;
  ASSERT_EQ(call("nvmlDeviceGetSamples", device(), 0u, 0ULL, &type, &count, none), nvml::kSuccess);
  ASSERT_GE(count, 50u);
  std::vector<nvml::Sample> samples(count);
  ASSERT_EQ(call("nvmlDeviceGetSamples", device(), 0u, 0ULL, &type, &count, samples.data()),
            nvml::kSuccess);
  ASSERT_EQ(count, 50u);
  EXPECT_EQ(samples[1].timestamp_us - samples[0].timestamp_us, 20000u);
  unsigned long long last = samples[48].timestamp_us;
  ASSERT_EQ(call("nvmlDeviceGetSamples", device(), 0u, last, &type, &count, samples.data()),
            nvml::kSuccess);
  EXPECT_EQ(count, 1u);
  last = samples[0].timestamp_us;
  count = 50;
  EXPECT_EQ(call("nvmlDeviceGetSamples", device(), 0u, last, &type, &count, samples.data()),
            nvml::kNotFound);
}

// The row length a client must not trust: 16, 24 or 32 bytes under one name.
TEST_F(Standin, ProcessListsInThreeLayouts) {
  start({"h100"});
  const int own = static_cast<int>(getpid());
  ASSERT_TRUE(world_->attach(0, own, 111));
  ASSERT_TRUE(world_->attach(0, static_cast<int>(getppid()), 222));
  for (const std::size_t stride : {16U, 24U, 32U}) {
    fault(("stride:value=" + std::to_string(stride)).c_str());
    unsigned count = 1;
    char rows[4 * 40];
    std::memset(rows, 0x5a, sizeof rows);
    void* const into = rows;
    EXPECT_EQ(call("nvmlDeviceGetComputeRunningProcesses_v3", device(), &count, into),
              nvml::kInsufficientSize);
    ASSERT_EQ(count, 2u);
    ASSERT_EQ(call("nvmlDeviceGetComputeRunningProcesses_v3", device(), &count, into),
              nvml::kSuccess);
    int pid = 0;
    std::memcpy(&pid, rows, sizeof pid);
    EXPECT_EQ(pid, own);
    std::memcpy(&pid, rows + stride, sizeof pid);
    EXPECT_EQ(pid, getppid());
    EXPECT_EQ(rows[2 * stride], 0x5a);  // nothing beyond
    EXPECT_NE(rows[2 * stride - 1], 0x5a);
  }
}

TEST_F(Standin, MigInstancesAreSparseAndHaveNoPowerOfTheirOwn) {
  start({"h100", "v100"});
  unsigned mode = 1;
  unsigned pending = 1;
  ASSERT_EQ(call("nvmlDeviceGetMigMode", device(), &mode, &pending), nvml::kSuccess);
  EXPECT_EQ(mode, 0u);
  EXPECT_EQ(call("nvmlDeviceGetMigMode", device(1), &mode, &pending), nvml::kNotSupported);
  fault("mig:gpu=0,value=3");
  std::vector<unsigned> found;
  Device slice = nullptr;
  for (unsigned i = 0; i < get("nvmlDeviceGetMaxMigDeviceCount", device()); ++i) {
    const int code = call("nvmlDeviceGetMigDeviceHandleByIndex", device(), i, &slice);
    if (code == nvml::kSuccess) found.push_back(i);
    EXPECT_TRUE(code == nvml::kSuccess || code == nvml::kNotFound);
  }
  EXPECT_EQ(found, (std::vector<unsigned>{0, 2, 3}));
  ASSERT_EQ(call("nvmlDeviceGetMigDeviceHandleByIndex", device(), 2u, &slice), nvml::kSuccess);
  unsigned value = 0;
  EXPECT_EQ(call("nvmlDeviceGetPowerUsage", slice, &value), nvml::kNotSupported);
  ASSERT_EQ(call("nvmlDeviceIsMigDeviceHandle", slice, &value), nvml::kSuccess);
  EXPECT_EQ(value, 1u);
  char uuid[96];
  ASSERT_EQ(call("nvmlDeviceGetUUID", slice, uuid, unsigned{sizeof uuid}), nvml::kSuccess);
  EXPECT_EQ(std::strncmp(uuid, "MIG-", 4), 0);
  Device back = nullptr;
  ASSERT_EQ(call("nvmlDeviceGetHandleByUUID", static_cast<const char*>(uuid), &back),
            nvml::kSuccess);
  EXPECT_EQ(back, slice);
  ASSERT_EQ(call("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", slice, &back), nvml::kSuccess);
  EXPECT_EQ(back, device());
  nvml::Utilization rates;
  EXPECT_EQ(call("nvmlDeviceGetUtilizationRates", device(), &rates), nvml::kNotSupported);
}

TEST_F(Standin, CallFaultsStrikeByNameDeviceTimeAndCount) {
  start({"h100", "h100"});
  fault("return:call=nvmlDeviceGetPowerUsage,gpu=1,code=999,from=1s,until=2s,count=2");
  unsigned value = 0;
  EXPECT_EQ(call("nvmlDeviceGetPowerUsage", device(1), &value), nvml::kSuccess);
  ASSERT_TRUE(world_->advance(Seconds(1)));
  EXPECT_EQ(call("nvmlDeviceGetPowerUsage", device(0), &value), nvml::kSuccess);
  EXPECT_EQ(call("nvmlDeviceGetPowerUsage", device(1), &value), 999);
  EXPECT_EQ(call("nvmlDeviceGetPowerUsage", device(1), &value), 999);
  EXPECT_EQ(call("nvmlDeviceGetPowerUsage", device(1), &value), nvml::kSuccess);
  world_->clear_faults();
  fault("slow:call=*,delay=50ms");
  const Seconds before = world_->now();
  EXPECT_EQ(call("nvmlDeviceGetPowerUsage", device(1), &value), nvml::kSuccess);
  EXPECT_NEAR((world_->now() - before).value(), 0.1, 1e-9);  // the handle and the reading
}

TEST_F(Standin, LostDeviceStaysLostAndOthersDoNot) {
  start({"h100", "h100"});
  const Device handle = device();
  fault("lost:gpu=0,at=1s");
  unsigned value = 0;
  EXPECT_EQ(call("nvmlDeviceGetPowerUsage", handle, &value), nvml::kSuccess);
  ASSERT_TRUE(world_->advance(Seconds(1)));
  EXPECT_EQ(call("nvmlDeviceGetPowerUsage", handle, &value), nvml::kGpuIsLost);
  Device again = nullptr;
  EXPECT_EQ(call("nvmlDeviceGetHandleByIndex_v2", 0u, &again), nvml::kGpuIsLost);
  EXPECT_EQ(call("nvmlDeviceGetPowerUsage", device(1), &value), nvml::kSuccess);
}

TEST_F(Standin, XidComesAsAnEvent) {
  start({"h100"});
  nvml::EventSet set = nullptr;
  ASSERT_EQ(call("nvmlEventSetCreate", &set), nvml::kSuccess);
  ASSERT_EQ(call("nvmlDeviceRegisterEvents", device(), 8ULL, set), nvml::kSuccess);
  fault("xid:gpu=0,at=3s,value=79");
  nvml::EventData data;
  EXPECT_EQ(call("nvmlEventSetWait_v2", set, &data, 1000u), nvml::kTimeout);
  EXPECT_NEAR(world_->now().value(), 1, 1e-9);
  ASSERT_EQ(call("nvmlEventSetWait_v2", set, &data, 5000u), nvml::kSuccess);
  EXPECT_EQ(data.data, 79u);
  EXPECT_EQ(data.device, device());
  EXPECT_NEAR(world_->now().value(), 3, 1e-9);
  EXPECT_EQ(call("nvmlEventSetWait_v2", set, &data, 10u), nvml::kTimeout);
  EXPECT_EQ(call("nvmlEventSetFree", set), nvml::kSuccess);
  EXPECT_EQ(call("nvmlEventSetFree", set), nvml::kInvalidArgument);
}

TEST_F(Standin, WorkloadsPostPhasesWithWaiting) {
  start({"a100"});
  const perjoule_twin_phase phase = {312e12 * 0.1, 0, 0.5, -1, 0, 0.05, 0.4};
  unsigned long long ticket = 0;
  ASSERT_EQ(call("perjoule_twin_post", 0u, &phase, &ticket), nvml::kSuccess);
  ASSERT_EQ(call("perjoule_twin_wait", 0u, ticket), nvml::kSuccess);
  double now = 0;
  ASSERT_EQ(call("perjoule_twin_now", &now), nvml::kSuccess);
  EXPECT_NEAR(now, 0.4, 1e-8);
  ASSERT_EQ(call("perjoule_twin_idle", 0u), nvml::kSuccess);
  EXPECT_EQ(call("perjoule_twin_run", 7u, 1.0, 0.0, 1.0), nvml::kNotFound);
  EXPECT_EQ(call("perjoule_twin_run", 0u, -1.0, 0.0, 1.0), nvml::kInvalidArgument);
}

}  // namespace
}  // namespace perjoule::twin
