// Every exported symbol, by the ABI alone: with nothing initialised, with null arguments, and with
// a valid device; none may crash, and each answers a code that its state allows.
#include "twin/reduced_library.h"
#include "twin/standin_client.h"

namespace perjoule::twin {
namespace {

using Abi = StandinTest;
// All arguments are integers or pointers but those of perjoule_twin_run, which has its own test:
// six zero words fit every such function on the 64-bit ABIs we build for.
using AnyFunction = int (*)(void*, void*, void*, void*, void*, void*);

bool has_generic_arguments(const std::string& name) {
  return name != "nvmlErrorString" && name != "perjoule_twin_run" && name != "nvmlShutdown" &&
         name.rfind("nvmlInit", 0) != 0;
}

class EveryCall : public Abi {
 protected:
  int generic(const std::string& name, void* first, void* second = nullptr) {
    const auto function = reinterpret_cast<AnyFunction>(dlsym(library_, name.c_str()));
    return function == nullptr ? -1 : function(first, second, nullptr, nullptr, nullptr, nullptr);
  }
  std::vector<std::string> names() {
    const auto exported = exported_symbols(standin_path());
    EXPECT_TRUE(exported) << exported.error().text();
    return exported ? *exported : std::vector<std::string>{};
  }
};

TEST_F(EveryCall, ExportsOnlyItsTwoPrefixes) {
  start({"h100"});
  EXPECT_GT(names().size(), 120u);
  for (const std::string& name : names()) {
    EXPECT_TRUE(name.rfind("nvml", 0) == 0 || name.rfind("perjoule_twin_", 0) == 0) << name;
  }
}

TEST_F(EveryCall, HasTheVendorsSoname) {
  start({"h100"});
  // Opened by its full path above; the loader now knows it by the name clients ask for.
  void* const by_name = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_NOLOAD);
  ASSERT_NE(by_name, nullptr);
  EXPECT_EQ(dlsym(by_name, "nvmlInit_v2"), dlsym(library_, "nvmlInit_v2"));
  dlclose(by_name);
}

TEST_F(EveryCall, SurvivesNullsBeforeInitialisation) {
  start({"h100"});
  ASSERT_EQ(call("nvmlShutdown"), nvml::kSuccess);
  for (const std::string& name : names()) {
    if (!has_generic_arguments(name) || name.rfind("perjoule", 0) == 0) continue;
    const int code = generic(name, nullptr);
    EXPECT_TRUE(code == nvml::kUninitialized || code == nvml::kInvalidArgument ||
                code == nvml::kNotFound || code == nvml::kNotSupported)
        << name << " " << code;
  }
}

TEST_F(EveryCall, SurvivesNullsAfterInitialisation) {
  start({"h100"});
  for (const std::string& name : names()) {
    if (!has_generic_arguments(name)) continue;
    EXPECT_GE(generic(name, nullptr), 0) << name;
  }
}

TEST_F(EveryCall, AnswersOnADeviceAndOnAMigInstance) {
  start({"h100", "v100", "gb300"});
  fault("mig:gpu=0,value=2");
  nvml::Device slice = nullptr;
  ASSERT_EQ(call("nvmlDeviceGetMigDeviceHandleByIndex", device(), 0u, &slice), nvml::kSuccess);
  for (const nvml::Device handle : {device(0), device(1), device(2), slice}) {
    for (const std::string& name : names()) {
      if (name.rfind("nvmlDeviceGet", 0) != 0) continue;
      // A buffer that is a number, a struct of zeros or a list, as the call wants it.
      alignas(8) char buffer[4096] = {};
      const int code = generic(name, handle, buffer);
      EXPECT_TRUE((code >= 0 && code <= 30) || code == 999) << name << " " << code;
    }
  }
}

TEST_F(EveryCall, GettersOfOneNumberAnswer) {
  start({"h100"});
  for (const char* name : {"nvmlDeviceGetIndex",
                           "nvmlDeviceGetMinorNumber",
                           "nvmlDeviceGetModuleId",
                           "nvmlDeviceGetBoardId",
                           "nvmlDeviceGetArchitecture",
                           "nvmlDeviceGetBrand",
                           "nvmlDeviceGetNumGpuCores",
                           "nvmlDeviceGetPowerUsage",
                           "nvmlDeviceGetPowerManagementMode",
                           "nvmlDeviceGetPowerManagementLimit",
                           "nvmlDeviceGetPowerManagementDefaultLimit",
                           "nvmlDeviceGetEnforcedPowerLimit",
                           "nvmlDeviceGetPersistenceMode",
                           "nvmlDeviceGetMaxPcieLinkGeneration",
                           "nvmlDeviceGetCurrPcieLinkGeneration",
                           "nvmlDeviceGetMaxPcieLinkWidth",
                           "nvmlDeviceGetCurrPcieLinkWidth",
                           "nvmlDeviceGetPcieReplayCounter",
                           "nvmlDeviceGetNumaNodeId",
                           "nvmlDeviceGetNumFans",
                           "nvmlDeviceGetComputeMode",
                           "nvmlDeviceGetDisplayActive",
                           "nvmlDeviceGetDisplayMode",
                           "nvmlDeviceGetMaxMigDeviceCount"}) {
    get(name, device());
  }
  for (const char* name :
       {"nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetSupportedClocksEventReasons",
        "nvmlDeviceGetSupportedClocksThrottleReasons", "nvmlDeviceGetSupportedEventTypes"}) {
    get<unsigned long long>(name, device());
  }
  EXPECT_EQ(get("nvmlDeviceGetArchitecture", device()), nvml::kArchitectureHopper);
}

TEST_F(EveryCall, ListsFollowTheTwoCallProtocol) {
  start({"v100"});
  unsigned count = 0;
  unsigned* const none = nullptr;
  ASSERT_EQ(call("nvmlDeviceGetSupportedMemoryClocks", device(), &count, none),
            nvml::kInsufficientSize);
  ASSERT_EQ(count, 1u);
  unsigned memory = 0;
  ASSERT_EQ(call("nvmlDeviceGetSupportedMemoryClocks", device(), &count, &memory), nvml::kSuccess);
  EXPECT_EQ(memory, 877u);
  ASSERT_EQ(call("nvmlDeviceGetSupportedGraphicsClocks", device(), memory, &count, none),
            nvml::kInsufficientSize);
  ASSERT_EQ(count, 187u);  // 135 to 1530 MHz in steps of 7.5
  std::vector<unsigned> clocks(count);
  ASSERT_EQ(call("nvmlDeviceGetSupportedGraphicsClocks", device(), memory, &count, clocks.data()),
            nvml::kSuccess);
  EXPECT_EQ(clocks.front(), 1530u);
  EXPECT_EQ(clocks.back(), 135u);
  EXPECT_EQ(call("nvmlDeviceGetSupportedGraphicsClocks", device(), 1u, &count, none),
            nvml::kNotFound);
}

TEST_F(EveryCall, VersionedStructsCheckTheirVersion) {
  start({"h100"});
  nvml::MemoryV2 memory = {};
  EXPECT_EQ(call("nvmlDeviceGetMemoryInfo_v2", device(), &memory), nvml::kArgumentVersionMismatch);
  memory.version = nvml::kMemoryV2Version;
  ASSERT_EQ(call("nvmlDeviceGetMemoryInfo_v2", device(), &memory), nvml::kSuccess);
  EXPECT_EQ(memory.total, 81559ULL << 20U);
  EXPECT_EQ(memory.total, memory.free + memory.used + memory.reserved);
  nvml::TemperatureV1 temperature = {nvml::kTemperatureV1Version, 0, 0};
  ASSERT_EQ(call("nvmlDeviceGetTemperatureV", device(), &temperature), nvml::kSuccess);
  EXPECT_NEAR(temperature.temperature, 34, 2);
  nvml::PowerValueV2 power = {nvml::kPowerValueV2Version, 0, 400000};
  ASSERT_EQ(call("nvmlDeviceSetPowerManagementLimit_v2", device(), &power), nvml::kSuccess);
  EXPECT_EQ(get("nvmlDeviceGetPowerManagementLimit", device()), 400000u);
  power.version = 1;
  EXPECT_EQ(call("nvmlDeviceSetPowerManagementLimit_v2", device(), &power),
            nvml::kArgumentVersionMismatch);
}

TEST_F(EveryCall, ErrorTexts) {
  start({"h100"});
  using Text = const char* (*)(int);
  const auto text = reinterpret_cast<Text>(dlsym(library_, "nvmlErrorString"));
  ASSERT_NE(text, nullptr);
  EXPECT_STREQ(text(0), "Success");
  EXPECT_STREQ(text(15), "GPU is lost");
  EXPECT_STREQ(text(12345), "Unknown Error");
}

// A copy without one symbol: absent to dlsym, everything else in place.
TEST_F(EveryCall, ReducedLibraryLacksWhatWasTakenOut) {
  start({"h100"});
  const std::string copy = testing::TempDir() + "reduced-" + std::to_string(getpid()) + ".so";
  ASSERT_TRUE(make_reduced_library(standin_path(), copy, {"nvmlDeviceGetFieldValues"}));
  void* const reduced = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(reduced, nullptr) << dlerror();
  EXPECT_EQ(dlsym(reduced, "nvmlDeviceGetFieldValues"), nullptr);
  EXPECT_NE(dlsym(reduced, "nvmlDeviceGetPowerUsage"), nullptr);
  dlclose(reduced);
  std::remove(copy.c_str());
  EXPECT_FALSE(make_reduced_library(standin_path(), copy, {"nvmlNoSuchCall"}));
  EXPECT_FALSE(exported_symbols("/proc/self/cmdline"));
}

}  // namespace
}  // namespace perjoule::twin
