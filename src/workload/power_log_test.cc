#include "workload/power_log.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// 2020-12-23 10:21:51 UTC.
constexpr std::int64_t kMoment = 1'608'718'911 * kSecond;
const PowerLogOptions kUtc{.utc_offset = Seconds(0)};

PowerLog read(const std::string& text, PowerLogOptions options = kUtc) {
  const auto log = parse_power_log(text, "p.csv", options);
  EXPECT_TRUE(log) << log.error().text();
  return log ? *log : PowerLog();
}

TEST(PowerLog, APowerMetersLog) {
  const PowerLog log = read(
      "Time,12-23-2020 10:21:51.000,Watts,23.430000,Volts,228.37,Amps,0.2,PF,0.5,Mark,run\r\n"
      "Time,12-23-2020 10:21:52.009,Watts,270.5,Volts,-1.0,Amps,-1.0,PF,-1.0,Mark,notset,Ch1,"
      "Watts,91.06,Volts,120.9\n"
      "Time,12-23-2020 10:21:53.000,Watts,nan,Volts,1,Amps,1,PF,1,Mark,run\n\n");
  EXPECT_EQ(log.kind, PowerKind::kMeanBefore);
  EXPECT_EQ(log.boundary, Boundary::kNode);
  EXPECT_FALSE(log.gain);
  ASSERT_EQ(log.devices.size(), 1U);
  ASSERT_EQ(log.devices[0].samples.size(), 2U);
  EXPECT_EQ(log.devices[0].samples[0].at_unix_ns, kMoment);
  EXPECT_EQ(log.devices[0].samples[1].power, Watts(270.5));  // and not a channel's
  ASSERT_EQ(log.notes.size(), 1U);
  EXPECT_NE(log.notes[0].find("1 row"), std::string::npos);
}

TEST(PowerLog, NvidiaSmiWithUnitsAndWithout) {
  for (const char* unit : {" W", ""}) {
    const PowerLog log = read(
        std::string("timestamp, index, power.draw [W]\n") + "2020/12/23 10:21:51.250, 0, 61.23" +
        unit + "\n" + "2020/12/23 10:21:51.251, 1, 70" + unit + "\n" +
        "2020/12/23 10:21:52.250, 0, [N/A]\n" + "2020/12/23 10:21:53.250, 0, 65" + unit + "\n");
    EXPECT_EQ(log.kind, PowerKind::kPoint);
    EXPECT_EQ(log.boundary, Boundary::kDevice);
    EXPECT_EQ(log.gain, 0.05);
    EXPECT_EQ(log.known_within, Seconds(1));
    ASSERT_EQ(log.devices.size(), 2U);
    EXPECT_EQ(log.devices[0].device, "gpu:0");
    ASSERT_EQ(log.devices[0].samples.size(), 2U);
    EXPECT_EQ(log.devices[0].samples[0].at_unix_ns, kMoment + kSecond / 4);
    EXPECT_EQ(log.devices[0].samples[0].power, Watts(61.23));
    EXPECT_EQ(log.notes.size(), 1U);
  }
}

TEST(PowerLog, NvidiaSmiTellsDevicesByTheBestNameAndTakesInstantPower) {
  const PowerLog log = read(
      "name, uuid, power.draw.average [W], power.draw.instant [W], timestamp\n"
      "NVIDIA H100, GPU-a, 100, 120, 2020/12/23 10:21:51.000\n"
      "NVIDIA H100, GPU-b, 101, 121, 2020/12/23 10:21:51.000\n");
  ASSERT_EQ(log.devices.size(), 2U);
  EXPECT_EQ(log.devices[1].device, "gpu:GPU-b");
  EXPECT_EQ(log.devices[1].samples[0].power, Watts(121));
  EXPECT_LT(log.known_within, Seconds(1));
}

TEST(PowerLog, LocalTimeIsAheadByTheOffset) {
  const std::string text = "timestamp, power.draw [W]\n2020/12/23 12:21:51.000, 61 W\n";
  EXPECT_EQ(read(text, {.utc_offset = Seconds(7200)}).devices[0].samples[0].at_unix_ns, kMoment);
}

const char* const kOurs =
    "source,unix_s,time_s,power_w\n"
    "gpu:GPU-a,1608718911.5,0.5,100\n"
    "gpu:GPU-a/power,1608718911.5,0.5,101\n"
    "gpu:GPU-a/memory-power,1608718911.5,0.5,20\n"
    "gpu:GPU-b/power,1608718911.5,0.5,90\n"
    "gpu:GPU-b/power-instant,1608718911.5,0.5,91\n"
    "cpu:0/package,1608718911.5,0.5,40\n"
    "node/dcmi,1608718911.5,0.5,400\n";

TEST(PowerLog, OfOurOwnTableEachGpuCountsOnce) {
  const PowerLog log = read(kOurs);
  EXPECT_EQ(log.kind, PowerKind::kMeanAround);
  EXPECT_EQ(log.boundary, Boundary::kDevice);
  ASSERT_EQ(log.devices.size(), 2U);
  EXPECT_EQ(log.devices[0].device, "gpu:GPU-a");
  EXPECT_EQ(log.devices[1].device, "gpu:GPU-b/power-instant");
  EXPECT_EQ(log.devices[0].samples[0].at_unix_ns, kMoment + kSecond / 2);
}

TEST(PowerLog, OfOurOwnTableTheNodeIsOneSource) {
  const PowerLog log = read(kOurs, {.boundary = Boundary::kNode});
  EXPECT_EQ(log.boundary, Boundary::kNode);
  ASSERT_EQ(log.devices.size(), 1U);
  EXPECT_EQ(log.devices[0].samples[0].power, Watts(400));
  EXPECT_FALSE(log.gain);
  const auto none =
      parse_power_log("source,unix_s,time_s,power_w\ncpu:0/package,1608718911,0,4\n", "p.csv", {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_NE(none.error().text().find("cpu:0/package"), std::string::npos);
}

TEST(PowerLog, AnyTableOfTimeAndPower) {
  const PowerLog log = read(
      "# of the PDU\nunix_s,watts,device\n1608718911,10,a\n"
      "1608718911,20,b\n1608718912,,a\n1608718913,12,a\n");
  EXPECT_EQ(log.kind, PowerKind::kPoint);
  EXPECT_FALSE(log.boundary);
  ASSERT_EQ(log.devices.size(), 2U);
  EXPECT_EQ(log.devices[0].samples.size(), 2U);
  EXPECT_EQ(log.notes.size(), 1U);
  EXPECT_EQ(read("unix_s,power_w\n1608718911,10\n").devices[0].device, "meter");
}

TEST(PowerLog, RowsALittleOutOfOrderAreSortedAndTheLastOfAMomentCounts) {
  const PowerLog log = read(
      "unix_s,watts\n1608718911,1\n1608718912,2\n1608718911.5,3\n1608718912,4\n1608718913,5\n");
  ASSERT_EQ(log.devices[0].samples.size(), 4U);
  EXPECT_EQ(log.devices[0].samples[1].power, Watts(3));
  EXPECT_EQ(log.devices[0].samples[2].power, Watts(4));
}

TEST(PowerLog, WhatCannotBeReadIsNamed) {
  const auto refused = [](const std::string& text, ErrorCode code,
                          std::initializer_list<std::string> wanted) {
    const auto log = parse_power_log(text, "p.csv", kUtc);
    ASSERT_FALSE(log) << text;
    EXPECT_EQ(log.error().code, code) << log.error().text();
    for (const std::string& word : wanted)
      EXPECT_NE(log.error().text().find(word), std::string::npos) << log.error().text();
  };
  const ErrorCode bad = ErrorCode::kInvalidArgument;
  refused("", bad, {"p.csv", "nvidia-smi"});
  refused("hello\nworld\n", bad, {"p.csv"});
  refused("Time,12-23-2020 10:21:51.000,Volts,1\n", bad, {"line 1"});
  refused("Time,12-23-2020 10:21:51.000,Watts,1\nTime,yesterday,Watts,1\n", bad,
          {"line 2", "yesterday"});
  refused("index, power.draw [W]\n0, 1 W\n", bad, {"line 1", "timestamp"});
  refused("timestamp, power.draw [W]\n2020/12/23 10:21:51.000\n", bad, {"line 2", "fewer"});
  refused("timestamp, power.draw [W]\n2020-12-23 10:21:51.000, 3 W\n", bad, {"line 2", "2020-12"});
  refused("timestamp, power.draw [W]\n", ErrorCode::kNotFound, {"no sample"});
  refused("unix_s,volts\n1608718911,1\n", bad, {"watts"});
  refused("unix_s,watts\n1,1\n", bad, {"line 2", "unix_s"});
  refused("unix_s,watts\n1608718911,many\n", bad, {"line 2", "watts"});
  refused("unix_s,watts\n1608718911,1\n1608715311,1\n", bad, {"goes back", "3600"});
  refused("#Entity   ID  POWER\nGPU 0  61.2\n", ErrorCode::kNotSupported, {"dcgmi"});
}

}  // namespace
}  // namespace perjoule
