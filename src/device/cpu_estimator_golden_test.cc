// The estimator against measured package power, on machines its curve was not made from.
#include <gtest/gtest.h>

#include "base/test_data.h"
#include "tools/cpu_curve_fit.h"

namespace perjoule {
namespace {

TEST(CpuEstimatorGolden, AMachineLeftOutIsCovered) {
  PJ_TEST_DATA(folder, "cpu_power/load_profiles");
  const auto machines = read_load_profiles(folder);
  ASSERT_TRUE(machines) << machines.error().text();
  EXPECT_EQ(machines->size(), 4U);
  const LeaveOneOut check = leave_one_out(*machines);
  EXPECT_EQ(check.steps, 86);
  EXPECT_GE(check.covered, 0.95 * check.steps);
  EXPECT_LE(check.mean_width, 1.5);
  std::printf("covered %d of %d, mean width %.2f TDP, median error %.1f %%, CodeCarbon %.1f %%\n",
              check.covered, check.steps, check.mean_width, 100 * check.median_error,
              100 * check.median_error_codecarbon);
}

TEST(CpuEstimatorGolden, TheShippedCurveIsTheOneTheToolMakes) {
  PJ_TEST_DATA(folder, "cpu_power/load_profiles");
  const auto machines = read_load_profiles(folder);
  ASSERT_TRUE(machines) << machines.error().text();
  for (const CpuLoadCurve::Knot& made : fit_curve(*machines)) {
    const CpuLoadCurve::Knot shipped = CpuLoadCurve::shipped().at(made.load);
    EXPECT_NEAR(shipped.centre, made.centre, 6e-4) << made.load;
    EXPECT_NEAR(shipped.low, made.low, 6e-4) << made.load;
    EXPECT_NEAR(shipped.high, made.high, 6e-4) << made.load;
  }
}
}  // namespace
}  // namespace perjoule
