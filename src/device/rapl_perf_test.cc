#include "device/rapl_perf.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "device/discovery.h"
#include "device/joined_device.h"
#include "device/plain_device.h"
#include "device/temp_tree.h"

namespace perjoule {
namespace {

/// Two packages, one CPU of each in the mask.
class PerfTest : public testing::Test {
 protected:
  PerfTest() : roots_(tree_.roots()) {
    tree_.write("proc/cpuinfo", "processor : 0\nvendor_id : GenuineIntel\nmodel name : Xeon");
    pmu("power", "23", "0,24");
    topology(0, 0);
    topology(24, 1);
  }

  void pmu(const std::string& name, const std::string& type, const std::string& mask) const {
    tree_.write(folder(name) + "/type", type);
    tree_.write(folder(name) + "/cpumask", mask);
  }
  void event(const std::string& pmu, const std::string& name, const std::string& config,
             const std::string& scale = "2.3283064365386962890625e-10",
             const std::string& unit = "Joules") const {
    tree_.write(folder(pmu) + "/events/" + name, config);
    tree_.write(folder(pmu) + "/events/" + name + ".scale", scale);
    tree_.write(folder(pmu) + "/events/" + name + ".unit", unit);
  }
  void topology(int cpu, int package, int die = 0) const {
    const std::string path = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    tree_.write(path + "physical_package_id", std::to_string(package));
    tree_.write(path + "die_id", std::to_string(die));
  }
  static std::string folder(const std::string& pmu) {
    return "sys/bus/event_source/devices/" + pmu;
  }

  /// A pipe stands for the counter of (event, CPU); put() writes what the next read gives.
  PerfOpener pipes() {
    return [this](unsigned, std::uint64_t config, int cpu) -> Result<FileDescriptor> {
      int ends[2];
      if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return Error::internal("pipe");
      writers_[{config, cpu}] = FileDescriptor(ends[1]);
      return FileDescriptor(ends[0]);
    };
  }
  void put(std::uint64_t config, int cpu, double joules) {
    const auto count = static_cast<std::uint64_t>(joules * 4294967296.0);
    ASSERT_EQ(::write(writers_.at({config, cpu}).get(), &count, sizeof(count)),
              static_cast<ssize_t>(sizeof(count)));
  }

  TempTree tree_;
  Roots roots_;
  std::map<std::pair<std::uint64_t, int>, FileDescriptor> writers_;
};

TEST_F(PerfTest, OneCounterAPackageAndWhatLiesWithinItOverlaps) {
  event("power", "energy-pkg", "event=0x02");
  event("power", "energy-ram", "event=0x03");
  event("power", "energy-cores", "event=0x01");
  event("power", "energy-psys", "event=0x05");
  const Discovered found = discover_rapl_perf(roots_, {}, pipes());
  EXPECT_TRUE(found.problems.empty());
  ASSERT_EQ(found.devices.size(), 2U);
  std::map<std::string, Source*> sources;
  for (const auto& device : found.devices) {
    for (Source* source : device->sources()) sources[source->info().id] = source;
  }
  ASSERT_EQ(sources.size(), 7U);
  EXPECT_EQ(sources.at("cpu:1/package")->info().overlaps, "");
  EXPECT_EQ(sources.at("cpu:1/dram")->info().overlaps, "");
  EXPECT_EQ(sources.at("cpu:1/core")->info().overlaps, "cpu:1/package");
  EXPECT_EQ(sources.at("node/psys")->info().overlaps, "cpu:0/package");
  put(2, 24, 12.5);
  const Reading reading = sources.at("cpu:1/package")->read();
  EXPECT_EQ(reading.code, ErrorCode::kOk);
  EXPECT_EQ(reading.micro, 12'500'000U);
}

TEST_F(PerfTest, ACounterIsKeptUpEveryMinute) {
  // The kernel's own refresh is sized for 200 W; a difference above 2^31 units is taken for
  // negative.
  event("power", "energy-pkg", "event=0x02");
  const Discovered found = discover_rapl_perf(roots_, {}, pipes());
  const SourceInfo& info = found.devices.at(0)->sources().at(0)->info();
  EXPECT_GT(info.upkeep.value(), 0);
  EXPECT_LE(info.upkeep.value(), 60);
  EXPECT_EQ(info.modulus_micro, 0U);
}

TEST_F(PerfTest, WhatPowercapGivesIsNotOpenedTwice) {
  event("power", "energy-pkg", "event=0x02");
  event("power", "energy-ram", "event=0x03");
  const Discovered found =
      discover_rapl_perf(roots_, {"cpu:0/package", "cpu:1/package", "cpu:1/dram"}, pipes());
  ASSERT_EQ(found.devices.size(), 1U);
  ASSERT_EQ(found.devices[0]->sources().size(), 1U);
  EXPECT_EQ(found.devices[0]->sources()[0]->info().id, "cpu:0/dram");
}

TEST_F(PerfTest, AmdCoresAreSummedByPackage) {
  pmu("power", "13", "0");
  pmu("power_core", "14", "0-2");
  topology(1, 0);
  topology(2, 0);
  event("power_core", "energy-core", "event=0x01");
  const Discovered found = discover_rapl_perf(roots_, {}, pipes());
  ASSERT_EQ(found.devices.size(), 1U);
  Source& cores = *found.devices[0]->sources().at(0);
  for (int cpu = 0; cpu < 3; ++cpu) put(1, cpu, 1 + cpu);
  EXPECT_EQ(cores.read().micro, 6'000'000U);
  EXPECT_EQ(cores.info().overlaps, "cpu:0/package");
}

TEST_F(PerfTest, DiesAreNamedAsPowercapNamesThem) {
  topology(24, 0, 1);
  event("power", "energy-pkg", "event=0x02");
  const Discovered found = discover_rapl_perf(roots_, {}, pipes());
  ASSERT_EQ(found.devices.size(), 1U);
  ASSERT_EQ(found.devices[0]->sources().size(), 2U);
  EXPECT_EQ(found.devices[0]->sources()[1]->info().id, "cpu:0/die-1");
  EXPECT_EQ(found.devices[0]->sources()[1]->info().overlaps, "");
}

TEST_F(PerfTest, PermissionDeniedSaysWhatOpensIt) {
  event("power", "energy-pkg", "event=0x02");
  tree_.write("proc/sys/kernel/perf_event_paranoid", "2");
  const auto denied = [](unsigned, std::uint64_t, int) -> Result<FileDescriptor> {
    return Error::from_errno(EACCES, "perf_event_open");
  };
  const Discovered found = discover_rapl_perf(roots_, {}, denied);
  EXPECT_TRUE(found.devices.empty());
  ASSERT_EQ(found.problems.size(), 2U);
  EXPECT_EQ(found.problems[0].error.code, ErrorCode::kPermissionDenied);
  EXPECT_NE(found.problems[0].error.remedy.find("CAP_PERFMON"), std::string::npos);
  EXPECT_NE(found.problems[0].error.remedy.find("now 2"), std::string::npos);
}

TEST_F(PerfTest, ACounterThatVanishesMidReadIsAnErrorCode) {
  event("power", "energy-pkg", "event=0x02");
  const Discovered found = discover_rapl_perf(roots_, {}, pipes());
  writers_.clear();  // a CPU taken off line: the counter reads as nothing
  EXPECT_EQ(found.devices[0]->sources()[0]->read().code, ErrorCode::kDataLoss);
}

TEST_F(PerfTest, AnEventOfAnotherUnitIsRefused) {
  event("power", "energy-pkg", "event=0x02", "1", "Watts");
  event("power", "energy-ram", "event=0x03,umask=0x1");
  event("power", "energy-cores", "event=0x01", "nan");
  const Discovered found = discover_rapl_perf(roots_, {}, pipes());
  EXPECT_TRUE(found.devices.empty());
  EXPECT_EQ(found.problems.size(), 3U);
  EXPECT_EQ(parse_perf_event("event=0x1f"), 0x1FU);
  for (const char* bad : {"", "event=2", "event=0x", "event=0x2 ", "config=0x2"})
    EXPECT_FALSE(parse_perf_event(bad)) << bad;
}

TEST_F(PerfTest, TogetherWithPowercapThereIsOneDeviceAPackage) {
  event("power", "energy-pkg", "event=0x02");
  std::vector<std::unique_ptr<Device>> devices;
  DeviceInfo info;
  info.id = "cpu:0";
  info.driver = "powercap";
  devices.push_back(std::make_unique<PlainDevice>(info));
  Discovered found = discover_rapl_perf(roots_, {}, pipes());
  for (auto& device : found.devices) join_device(devices, std::move(device));
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0]->info().name, "Xeon");
  EXPECT_EQ(devices[0]->info().driver, "perf");
  EXPECT_EQ(devices[0]->sources().size(), 1U);
}
TEST_F(PerfTest, EachEventCountsInItsOwnUnitAndAmdIsTrustedHalfAsMuch) {
  // Sapphire Rapids' memory, read with the package's unit, is four times too low (likwid#642): the
  // kernel says each event's unit, and no table of processors of ours is asked.
  tree_.write("proc/cpuinfo", "processor : 0\nvendor_id : AuthenticAMD\nmodel name : EPYC");
  event("power", "energy-pkg", "event=0x02");
  event("power", "energy-ram", "event=0x03", "9.313225746154785e-10");
  const Discovered found = discover_rapl_perf(roots_, {}, pipes());
  std::map<std::string, Source*> sources;
  for (const auto& device : found.devices) {
    for (Source* source : device->sources()) sources[source->info().id] = source;
  }
  ASSERT_EQ(sources.count("cpu:0/package"), 1U);
  ASSERT_EQ(sources.count("cpu:0/dram"), 1U);
  EXPECT_DOUBLE_EQ(sources["cpu:0/package"]->info().gain, 0.10);
  put(2, 0, 10);  // the same count in both
  put(3, 0, 10);
  EXPECT_NEAR(static_cast<double>(sources["cpu:0/package"]->read().micro), 10e6, 1);
  EXPECT_NEAR(static_cast<double>(sources["cpu:0/dram"]->read().micro), 40e6, 1);
}
}  // namespace
}  // namespace perjoule
