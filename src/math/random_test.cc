#include "math/random.h"

#include <gtest/gtest.h>

#include <vector>

namespace perjoule {
namespace {

TEST(Random, IsXoshiro256StarStar) {
  // The first word of the published algorithm, its state filled by SplitMix64 from 0.
  Random random(0);
  EXPECT_EQ(random.bits(), 11091344671253066420U);
}

TEST(Random, TheSameSeedGivesTheSameNumbers) {
  Random one(7);
  Random other(7);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(one.bits(), other.bits());
  EXPECT_NE(Random(7).bits(), Random(8).bits());
}

TEST(Random, ChildrenDoNotDependOnWhatWasDrawn) {
  Random parent(3);
  const std::uint64_t before = parent.child(5).bits();
  for (int i = 0; i < 10; ++i) parent.normal();
  EXPECT_EQ(parent.child(5).bits(), before);
  EXPECT_NE(parent.child(6).bits(), before);
}

TEST(Random, UniformBelowAndNormalHaveTheirMoments) {
  constexpr int kDraws = 200000;
  Random random(11);
  double sum = 0;
  double normal_sum = 0;
  double normal_squares = 0;
  std::vector<int> counts(7);
  for (int i = 0; i < kDraws; ++i) {
    const double u = random.uniform();
    ASSERT_TRUE(u >= 0 && u < 1);
    sum += u;
    ++counts[random.below(7)];
    const double z = random.normal();
    normal_sum += z;
    normal_squares += z * z;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.003);
  EXPECT_NEAR(normal_sum / kDraws, 0, 0.01);
  EXPECT_NEAR(normal_squares / kDraws, 1, 0.015);
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 7.0, 700);
}

}  // namespace
}  // namespace perjoule
