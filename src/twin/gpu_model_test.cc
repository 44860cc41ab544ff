#include "twin/gpu_model.h"

#include <gtest/gtest.h>

namespace perjoule::twin {
namespace {

TEST(GpuModel, EveryModelIsConsistent) {
  for (const GpuModel& m : gpu_models()) {
    SCOPED_TRACE(m.key);
    const Silicon& s = m.silicon;
    EXPECT_LE(m.limit_min_w, m.limit_default_w);
    EXPECT_LE(m.limit_default_w, m.limit_max_w);
    EXPECT_LE(s.clock_min_mhz, s.clock_floor_mhz);
    EXPECT_LT(s.knee_mhz, s.clock_max_mhz);
    EXPECT_LT(s.volt_low, s.volt_high);
    EXPECT_LE(m.sensor.instant_window_ms, m.sensor.average_window_ms);
    // At the reference temperature the default limit is the power that warms the chip there.
    EXPECT_NEAR(s.ambient_c + s.kelvin_per_w * m.limit_default_w, s.reference_c, 1e-9);
    // A dense GEMM reaches the limit of every part, and stays above its floor.
    const Phase gemm{.flop = s.flop_per_s, .dram_share = 0.2};
    const SteadyState steady = settle(s, gemm, m.limit_default_w, s.reference_c);
    EXPECT_TRUE(steady.capped);
    EXPECT_FALSE(steady.at_floor);
    EXPECT_GT(steady.clock_mhz, 0.6 * s.clock_max_mhz);
  }
}

// Idle powers measured on the real cards come out of the leakage law alone, within 20 %.
TEST(GpuModel, IdlePowerIsAsMeasured) {
  const auto idle = [](const char* key) {
    const Silicon& s = (*find_gpu_model(key))->silicon;
    return idle_power(s, false, s.clock_min_mhz, s.ambient_c + 4);
  };
  EXPECT_NEAR(idle("v100"), 33, 33 * 0.2);      // nvidia-pstated#6
  EXPECT_NEAR(idle("a100"), 50, 50 * 0.2);      // dcgm-exporter#464
  EXPECT_NEAR(idle("h100"), 78.8, 78.8 * 0.2);  // ansible-slurm-appliance#975
  EXPECT_NEAR(idle("h200"), 75, 75 * 0.2);
  EXPECT_NEAR(idle("gb300"), 175, 175 * 0.2);
}

TEST(GpuModel, FindIgnoresCaseAndNamesWhatThereIs) {
  ASSERT_TRUE(find_gpu_model("H100"));
  EXPECT_EQ((*find_gpu_model("H100"))->key, "h100");
  const auto missing = find_gpu_model("b9000");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().text().find("gb300"), std::string::npos);
}

}  // namespace
}  // namespace perjoule::twin
