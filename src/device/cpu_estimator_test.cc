#include "device/cpu_estimator.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "device/cpu_facts.h"

namespace perjoule {
namespace {
using namespace literals;

TEST(CpuTdp, NamesMeetAsTheKernelSpellsThem) {
  EXPECT_EQ(find_cpu_tdp("Intel(R) Xeon(R) CPU E5-2620 v3 @ 2.40GHz"), 85.0_W);
  EXPECT_EQ(find_cpu_tdp("AMD EPYC 8024P 8-Core Processor"), 90.0_W);
  EXPECT_EQ(find_cpu_tdp("AMD Ryzen Threadripper 1950X 16-Core Processor"), 180.0_W);
  EXPECT_EQ(find_cpu_tdp("AMD EPYC"), std::nullopt);
  EXPECT_EQ(find_cpu_tdp(""), std::nullopt);
}

TEST(CpuLoadCurve, RisesAndKeepsItsCentreWithinItsInterval) {
  const CpuLoadCurve& curve = CpuLoadCurve::shipped();
  double last = 0;
  for (int i = 0; i <= 100; ++i) {
    const CpuLoadCurve::Knot knot = curve.at(i / 100.0);
    EXPECT_GT(knot.centre, last);
    EXPECT_LT(knot.low, knot.centre);
    EXPECT_GT(knot.high, knot.centre);
    EXPECT_NEAR(curve.at_centre(knot.centre).high, knot.high, 1e-9);
    last = knot.centre;
  }
  EXPECT_EQ(curve.at(-1).load, 0);
  EXPECT_EQ(curve.at(7).load, 1);
}

TEST(CpuTimes, AreReadFromTheFirstLineOfProcStat) {
  const auto times = parse_cpu_times("cpu  100 20 30 400 50 6 7 8 9 10\ncpu0 1 2 3 4\n");
  ASSERT_TRUE(times);
  const double hertz = static_cast<double>(::sysconf(_SC_CLK_TCK));
  EXPECT_DOUBLE_EQ(times->busy.value(), 163 / hertz);
  EXPECT_DOUBLE_EQ(times->idle.value(), 450 / hertz);
  for (const char* bad : {"", "cpu", "cpu  1 2", "cpu  a b c d", "intr 1 2 3 4"})
    EXPECT_FALSE(parse_cpu_times(bad)) << bad;
}

TEST(CpuList, IsReadAsTheKernelWritesIt) {
  EXPECT_EQ(parse_cpu_list("0-2,24"), (std::vector<int>{0, 1, 2, 24}));
  for (const char* bad : {"", "a", "3-1", "0,,1", "-1", "0-99999999"})
    EXPECT_TRUE(parse_cpu_list(bad).empty()) << bad;
}

TEST(CpuEstimator, IntegratesTheLoadAndNamesItselfAnEstimate) {
  char pattern[] = "/tmp/perjoule-estimator-XXXXXX";
  const std::string root = ::mkdtemp(pattern);
  Roots roots;
  roots.procfs = root;
  std::ofstream(root + "/cpuinfo") << "processor : 0\nvendor_id : AuthenticAMD\nphysical id : 0\n"
                                   << "model name : AMD EPYC 8024P 8-Core Processor\n";
  const double hertz = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto set = [&](double busy, double idle) {
    std::ofstream(root + "/stat") << "cpu  " << busy * hertz << " 0 0 " << idle * hertz
                                  << " 0 0 0 0 0 0\n";
  };
  VirtualClock clock;
  set(0, 0);
  const Discovered found = discover_cpu_estimator(roots, clock);
  ASSERT_EQ(found.devices.size(), 1U);
  Source& source = *found.devices[0]->sources()[0];
  EXPECT_EQ(source.info().status, Status::kEstimated);
  EXPECT_EQ(source.read().micro, 0U);
  clock.advance(10.0_s);
  set(5, 5);
  const double joules = static_cast<double>(source.read().micro) * 1e-6;
  EXPECT_NEAR(joules, 90 * CpuLoadCurve::shipped().at(0.5).centre * 10, 0.01);
  const auto interval = source.interval(Watts(joules / 10));
  ASSERT_TRUE(interval);
  EXPECT_LT(interval->low.value(), 48);  // the machine itself measured 48 W at this load
  EXPECT_GT(interval->high.value(), 48);
  std::filesystem::remove_all(root);
}
}  // namespace
}  // namespace perjoule
