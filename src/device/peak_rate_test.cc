#include "device/peak_rate.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {
TEST(PeakRate, IsFoundByAWordOfTheName) {
  EXPECT_DOUBLE_EQ(find_peak_rate("NVIDIA H100 80GB HBM3")->flop_per_second, 989e12);
  EXPECT_DOUBLE_EQ(find_peak_rate("NVIDIA GB300")->flop_per_second, 2500e12);
  EXPECT_EQ(find_peak_rate("Tesla V100-SXM2-16GB")->precision, "FP16");
  EXPECT_FALSE(find_peak_rate("Voodoo 2"));
}
}  // namespace
}  // namespace perjoule
