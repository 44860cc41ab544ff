#include "base/units.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace perjoule {
namespace {
using namespace literals;

template <typename A, typename B>
concept Addable = requires(A a, B b) {
  a + b;
};

TEST(Units, AlgebraFollowsDimensions) {
  static_assert(std::is_same_v<decltype(1.0_W * 1.0_s), Joules>);
  static_assert(std::is_same_v<decltype(1.0_J / 1.0_s), Watts>);
  static_assert(std::is_same_v<decltype(1.0_J / 1.0_J), double>);
  static_assert(std::is_same_v<decltype(1.0_J * 1.0_s), JouleSeconds>);
  static_assert(std::is_same_v<decltype(1.0 / 1.0_s), Hertz>);
  static_assert(std::is_same_v<decltype(1.0_s * 1.0_Hz), double>);
  EXPECT_DOUBLE_EQ((300.0_W * 2.0_s).value(), 600);
}

TEST(Units, WrongMixesDoNotCompile) {
  static_assert(!Addable<Joules, Watts>);
  static_assert(!Addable<Joules, double>);
  static_assert(!std::is_convertible_v<double, Watts>);
  static_assert(!std::is_convertible_v<Watts, double>);
}

TEST(Units, CostNothingOverADouble) {
  static_assert(sizeof(Joules) == sizeof(double));
  static_assert(std::is_trivially_copyable_v<Joules>);
}

TEST(Units, KilowattHoursAndMegahertz) {
  EXPECT_DOUBLE_EQ(kilowatt_hours(1).value(), 3.6e6);
  EXPECT_DOUBLE_EQ(in_kilowatt_hours(1.8e6_J), 0.5);
  EXPECT_DOUBLE_EQ(in_megahertz(megahertz(1410)), 1410);
}
}  // namespace
}  // namespace perjoule
