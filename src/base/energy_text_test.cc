#include "base/energy_text.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

TEST(EnergyText, ABoundIsNoFigureWithAPlusMinus) {
  Energy energy;
  energy.joules = Joules(944);
  energy.random = Joules(120);
  EXPECT_EQ(with_uncertainty(energy), "944 +- 240 J");
  energy.lower_bound = true;
  EXPECT_EQ(with_uncertainty(energy), "at least 944 J");
  energy.upper_bound = true;
  EXPECT_EQ(with_uncertainty(energy), "unknown");
  energy.lower_bound = false;
  EXPECT_EQ(with_uncertainty(energy), "at most 944 J");
}
}  // namespace
}  // namespace perjoule
