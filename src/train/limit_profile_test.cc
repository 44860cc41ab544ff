#include "train/limit_profile.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

using Limits = std::vector<std::size_t>;

TEST(LimitProfile, AllIsWhatIsNotMeasured) {
  LimitProfile profile(4);
  EXPECT_EQ(profile.all(), (Limits{0, 1, 2, 3}));
  profile.record(1, Joules(5));
  EXPECT_EQ(profile.all(), (Limits{0, 2, 3}));
}

TEST(LimitProfile, AroundMeasuresTheNeighboursAndWalksOnDownhill) {
  LimitProfile profile(6);
  EXPECT_EQ(profile.around(2), (Limits{1, 2, 3}));
  for (const std::size_t i : profile.around(2))
    profile.record(i, Joules(10.0 - static_cast<double>(i)));
  EXPECT_EQ(profile.best(), 3U);
  EXPECT_EQ(profile.around(2), Limits{4});
  profile.record(4, Joules(9));
  EXPECT_EQ(profile.around(2), Limits{});
  EXPECT_EQ(profile.best(), 3U);
}

TEST(LimitProfile, EndsAreNoNeighbours) {
  LimitProfile profile(3);
  EXPECT_EQ(profile.around(0), (Limits{0, 1}));
  EXPECT_EQ(profile.around(9), (Limits{1, 2}));
}

TEST(LimitProfile, OfTwoAlikeTheHigherLimit) {
  LimitProfile profile(3);
  profile.record(2, Joules(4));
  profile.record(1, Joules(4));
  EXPECT_EQ(profile.best(), 1U);
}

}  // namespace
}  // namespace perjoule
