#include "device/amd_gpu.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>

#include "device/amd_smi.h"
#include "device/discovery.h"
#include "device/fake_amd.h"
#include "device/rocm_smi.h"
#include "device/temp_tree.h"

namespace perjoule {
namespace {
using namespace literals;

/// Holds a stand-in library open and gives its state, fresh for each test.
class FakeLibrary {
 public:
  explicit FakeLibrary(const char* path) : path_(path), handle_(::dlopen(path, RTLD_NOW)) {
    state().gpus = 1;
    state() = fake_amd_state{};
    state().gpus = 1;
    state().bdf[0] = 0x0000'0000'1000'6500;  // partition 1 of 0000:65:00.0
    state().energy_count = 65536;
    state().resolution = 15.3F;
    state().stamp_ns = 1;
    state().current_watts = 250;
    state().cap = 300'000'000;
    state().cap_default = 310'000'000;
    state().cap_minimum = 100'000'000;
    state().cap_maximum = 320'000'000;
    state().busy_percent = 70;
  }
  ~FakeLibrary() { ::dlclose(handle_); }
  FakeLibrary(const FakeLibrary&) = delete;
  FakeLibrary& operator=(const FakeLibrary&) = delete;
  fake_amd_state& state() {
    return *static_cast<fake_amd_state*>(::dlsym(handle_, "fake_amd_state"));
  }
  const char* path() const { return path_; }

 private:
  const char* path_;
  void* handle_;
};

/// The same checks through either library.
class AmdGpuTest : public testing::TestWithParam<bool> {
 protected:
  AmdGpuTest()
      : library_(GetParam() ? PERJOULE_FAKE_AMD_SMI : PERJOULE_FAKE_ROCM_SMI),
        roots_(tree_.roots()) {
    (GetParam() ? roots_.amd_smi : roots_.rocm_smi) = library_.path();
  }
  Discovered discover_gpus(const std::vector<std::string>& known = {}) {
    return GetParam() ? discover_amd_smi(roots_, clock_, known)
                      : discover_rocm_smi(roots_, clock_, known);
  }

  TempTree tree_;
  FakeLibrary library_;
  Roots roots_;
  VirtualClock clock_;
};

TEST_P(AmdGpuTest, TheCountIsTakenInItsTrueUnit) {
  const Discovered found = discover_gpus();
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_EQ(found.devices[0]->info().pci, "0000:65:00.0");
  Source& counter = *found.devices[0]->sources().at(0);
  EXPECT_EQ(counter.info().kind, SourceKind::kEnergyCounter);
  EXPECT_EQ(counter.info().status, Status::kMeasured);
  EXPECT_EQ(counter.read().micro, 1'000'000U);  // 1,002,701 by the library's 15.3 uJ
  library_.state().resolution = 0;              // amdsmi#38: nobody applied it
  EXPECT_EQ(counter.read().micro, 1'000'000U);
  library_.state().resolution = 100;  // another unit is another unit
  EXPECT_EQ(counter.read().micro, 6'553'600U);
  EXPECT_DOUBLE_EQ(counter.busy(), 0.7);
}

TEST_P(AmdGpuTest, AFrozenCounterIsNoReading) {
  const Discovered found = discover_gpus();
  Source& counter = *found.devices[0]->sources().at(0);
  EXPECT_EQ(counter.read().code, ErrorCode::kOk);
  clock_.advance(0.5_s);
  EXPECT_EQ(counter.read().code, ErrorCode::kOk);
  clock_.advance(2.0_s);
  EXPECT_EQ(counter.read().code, ErrorCode::kUnavailable);
  library_.state().stamp_ns = 2;
  EXPECT_EQ(counter.read().code, ErrorCode::kOk);
}

TEST_P(AmdGpuTest, AResetCountsFromBelowAndALostGpuIsAnErrorCode) {
  const Discovered found = discover_gpus();
  Source& counter = *found.devices[0]->sources().at(0);
  EXPECT_EQ(counter.info().modulus_micro, 0U);  // 64 bits: going back is never a wrap
  library_.state().energy_count = 100;
  EXPECT_EQ(counter.read().micro, 1525U);
  library_.state().energy_status = 99;
  EXPECT_EQ(counter.read().code, ErrorCode::kUnavailable);
}

TEST_P(AmdGpuTest, WithoutACounterPowerIsTheSourceToSum) {
  library_.state().energy_status = 2;
  const Discovered guest = discover_gpus();
  ASSERT_EQ(guest.devices.at(0)->sources().size(), 1U);
  EXPECT_EQ(guest.devices[0]->sources()[0]->info().kind, SourceKind::kPowerGauge);
  EXPECT_EQ(guest.devices[0]->sources()[0]->info().overlaps, "");
  EXPECT_EQ(guest.devices[0]->sources()[0]->read().micro, 250'000'000U);
  library_.state().energy_status = 0;
  library_.state().energy_count = 0;  // zero that is not zero
  EXPECT_EQ(discover_gpus().devices.at(0)->sources().size(), 1U);
}

TEST_P(AmdGpuTest, PermissionDeniedHasARemedy) {
  library_.state().energy_status = GetParam() ? 10 : 4;
  const Discovered found = discover_gpus();
  ASSERT_EQ(found.problems.size(), 1U);
  EXPECT_EQ(found.problems[0].error.code, ErrorCode::kPermissionDenied);
  EXPECT_FALSE(found.problems[0].error.remedy.empty());
}

TEST_P(AmdGpuTest, PresentOrMeanPowerWhicheverThereIs) {
  library_.state().current_watts = GetParam() ? 0xFFFFFFFFU : 0;
  library_.state().average_watts = 180;
  const Discovered found = discover_gpus();
  EXPECT_EQ(found.devices.at(0)->sources().at(1)->read().micro, 180'000'000U);
  EXPECT_EQ(found.devices[0]->sources()[1]->info().overlaps, found.devices[0]->info().id);
}

TEST_P(AmdGpuTest, TheCapIsAKnob) {
  const Discovered found = discover_gpus();
  Knob& cap = *found.devices.at(0)->knobs().at(0);
  EXPECT_EQ(*cap.get(), "300 W");
  EXPECT_EQ(cap.info().default_value, "310 W");
  EXPECT_EQ(cap.set("50 W").error().code, ErrorCode::kOutOfRange);
  ASSERT_TRUE(cap.set("200 W"));
  EXPECT_EQ(library_.state().cap, 200'000'000U);
  library_.state().set_status = GetParam() ? 10 : 4;
  const Outcome refused = cap.set("210 W");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
  EXPECT_NE(refused.error().remedy.find("root"), std::string::npos);
}

TEST_P(AmdGpuTest, TheLibraryIsLeftWhenItsDevicesAre) {
  {
    const Discovered found = discover_gpus();
    EXPECT_EQ(library_.state().live, 1);
  }
  EXPECT_EQ(library_.state().live, 0);
  library_.state().init_status = 8;
  const Discovered failed = discover_gpus();
  EXPECT_EQ(failed.problems.size(), 1U);
  EXPECT_EQ(library_.state().live, 0);
}

TEST_P(AmdGpuTest, PartitionsOfOneGpuAndKnownGpusAreOneDevice) {
  library_.state().gpus = 3;
  library_.state().bdf[1] = 0x0000'0000'2000'6500;
  library_.state().bdf[2] = 0x0000'0001'0000'0308;
  const Discovered found = discover_gpus();
  ASSERT_EQ(found.devices.size(), 2U);
  EXPECT_EQ(found.devices[1]->info().pci, "0001:03:01.0");
  EXPECT_EQ(discover_gpus({"0000:65:00.0"}).devices.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Libraries, AmdGpuTest, testing::Bool(),
                         [](const auto& chosen) { return chosen.param ? "AmdSmi" : "RocmSmi"; });

TEST(AmdSmi, CapsInWattsAreTakenForWatts) {
  FakeLibrary library(PERJOULE_FAKE_AMD_SMI);
  library.state().cap = 300;
  library.state().cap_default = 310;
  library.state().cap_minimum = 100;
  library.state().cap_maximum = 320;
  const TempTree tree;
  Roots roots = tree.roots();
  roots.amd_smi = library.path();
  const VirtualClock clock;
  const Discovered found = discover_amd_smi(roots, clock);
  EXPECT_EQ(*found.devices.at(0)->knobs().at(0)->get(), "300 W");
}

TEST(AmdSmi, AMissingFunctionIsAFeatureAbsent) {
  FakeLibrary library(PERJOULE_FAKE_AMD_SMI_OLD);
  const TempTree tree;
  Roots roots = tree.roots();
  roots.amd_smi = library.path();
  const VirtualClock clock;
  const Discovered found = discover_amd_smi(roots, clock);
  EXPECT_TRUE(found.problems.empty());
  ASSERT_EQ(found.devices.at(0)->sources().size(), 1U);
  EXPECT_EQ(found.devices[0]->sources()[0]->info().kind, SourceKind::kPowerGauge);
}

TEST(AmdGpus, SeveralRoadsToOneGpuMakeOneDevice) {
  FakeLibrary smi(PERJOULE_FAKE_AMD_SMI);
  FakeLibrary rocm(PERJOULE_FAKE_ROCM_SMI);
  const TempTree tree;
  tree.write("sys/class/hwmon/hwmon0/name", "amdgpu");
  tree.write("sys/class/hwmon/hwmon0/power1_average", "1000000");
  tree.write("sys/devices/0000:65:00.0/unique_id", "18f68e60");
  tree.link("sys/class/hwmon/hwmon0/device", tree / "sys/devices/0000:65:00.0");
  tree.link("sys/bus/pci/devices/0000:65:00.0", tree / "sys/devices/0000:65:00.0");
  Roots roots = tree.roots();
  DiscoveryOptions options;
  options.estimate_cpu = false;
  const VirtualClock clock;
  const auto backend = [&] {
    const Inventory machine = discover(roots, clock, options);
    EXPECT_EQ(machine.devices.size(), 1U);
    EXPECT_EQ(machine.devices.at(0)->info().id, "gpu:GPU-18f68e60");
    return machine.sources().at(0)->info().backend;
  };
  EXPECT_EQ(backend(), "hwmon");
  roots.rocm_smi = rocm.path();
  EXPECT_EQ(backend(), "rocm_smi");
  roots.amd_smi = smi.path();
  EXPECT_EQ(backend(), "amd_smi");
}
}  // namespace
}  // namespace perjoule
