#include "base/energy_text.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

TEST(EnergyText, ABoundIsNoFigureWithAPlusMinus) {
  Energy energy;
  energy.joules = Joules(944);
  energy.random = Joules(120);
  EXPECT_EQ(with_uncertainty(energy), "unknown");  // missing
  energy.status = Status::kMeasured;
  EXPECT_EQ(with_uncertainty(energy), "944 +- 240 J");
  energy.lower_bound = true;
  EXPECT_EQ(with_uncertainty(energy), "at least 944 J");
  energy.upper_bound = true;
  EXPECT_EQ(with_uncertainty(energy), "unknown");
  energy.lower_bound = false;
  EXPECT_EQ(with_uncertainty(energy), "at most 944 J");
}

TEST(EnergyText, AnEstimateIsToldByItsInterval) {
  Energy energy;
  energy.joules = Joules(1.2);
  energy.random = Joules(1.1);
  energy.status = Status::kEstimated;
  EXPECT_EQ(with_uncertainty(energy), "1.2 +- 2.2 J");  // of someone else's table: none is known
  energy.lower = Joules(0.171);
  energy.upper = Joules(4.6);
  EXPECT_EQ(with_uncertainty(energy), "1.20 J (171 mJ to 4.6 J)");
  EXPECT_EQ(with_uncertainty(energy / 2), "600 mJ (86 mJ to 2.3 J)");
  energy.lower_bound = true;
  EXPECT_EQ(with_uncertainty(energy), "at least 1.20 J");
}
}  // namespace
}  // namespace perjoule
