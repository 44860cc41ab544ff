#include "base/energy.h"

#include <gtest/gtest.h>

#include <cmath>

namespace perjoule {
namespace {
using namespace literals;

Energy figure(double joules, double random, std::vector<SystematicPart> systematic) {
  Energy energy;
  energy.joules = Joules(joules);
  energy.random = Joules(random);
  energy.systematic = std::move(systematic);
  energy.status = Status::kMeasured;
  energy.source = "gpu:0";
  return energy;
}

TEST(Energy, RandomPartsAddInQuadratureSameSensorPartsLinearly) {
  const Energy sum =
      figure(100, 3, {{"gpu:0/gain", 2.0_J}}) + figure(200, 4, {{"gpu:0/gain", 4.0_J}});
  EXPECT_DOUBLE_EQ(sum.joules.value(), 300);
  EXPECT_DOUBLE_EQ(sum.random.value(), 5);
  ASSERT_EQ(sum.systematic.size(), 1U);
  EXPECT_DOUBLE_EQ(sum.systematic[0].sigma.value(), 6);
  EXPECT_DOUBLE_EQ(sum.expanded_uncertainty().value(), 2 * std::hypot(5, 6));
}

TEST(Energy, DifferentSensorsStayIndependent) {
  const Energy sum = figure(100, 0, {{"a", 3.0_J}}) + figure(100, 0, {{"b", 4.0_J}});
  EXPECT_DOUBLE_EQ(sum.standard_uncertainty().value(), 5);
}

TEST(Energy, SharedGainCancelsInADifference) {
  const Energy saved =
      figure(100, 0, {{"gpu:0/gain", 3.0_J}}) - figure(90, 0, {{"gpu:0/gain", 2.7_J}});
  EXPECT_NEAR(saved.standard_uncertainty().value(), 0.3, 1e-12);
}

TEST(Energy, AMissingPartMakesTheSumMissing) {
  EXPECT_EQ((figure(1, 0, {}) + Energy::missing("gpu:1")).status, Status::kMissing);
}

TEST(Energy, ZeroIsExactAndChangesNothing) {
  Energy zero;
  zero.status = Status::kZero;
  EXPECT_EQ((figure(5, 1, {}) + zero).status, Status::kMeasured);
}

TEST(Energy, ASumOfUnlikePartsNamesThemAll) {
  Energy simulated = figure(5, 1, {});
  simulated.status = Status::kSimulated;
  Energy estimated = figure(3, 1, {});
  estimated.status = Status::kEstimated;
  Energy zero;
  zero.status = Status::kZero;
  EXPECT_EQ((simulated + simulated).status_text(), "simulated");
  EXPECT_EQ((simulated + zero).status_text(), "simulated");
  const Energy sum = estimated + simulated;
  EXPECT_EQ(sum.status, Status::kSimulated);  // the less certain, for who wants one word
  EXPECT_EQ(sum.status_text(), "simulated + estimated");
  EXPECT_EQ((sum / 3 - estimated).status_text(), "simulated + estimated");
  EXPECT_EQ((figure(1, 0, {}) + sum).status_text(), "measured + simulated + estimated");
  EXPECT_EQ((sum + Energy::missing("gpu:1")).status_text(), "missing");
}

TEST(Energy, ASourceThatIsInASumAlreadyIsNotNamedAgain) {
  const auto from = [](const std::string& source) {
    Energy energy = figure(1, 0, {});
    energy.source = source;
    return energy;
  };
  const Energy sum = from("gpu:1") + from("gpu:10") + from("cpu:0");
  EXPECT_EQ(sum.source, "gpu:1 + gpu:10 + cpu:0");
  EXPECT_EQ((sum + from("gpu:10") + from("cpu:0")).source, sum.source);
  EXPECT_EQ((sum + from("gpu:10 + cpu:0")).source, sum.source);
  EXPECT_EQ((from("gpu:10") + from("gpu:1")).source, "gpu:10 + gpu:1");
}

TEST(Energy, StatusesAreReadAsTheyAreWritten) {
  Energy energy;
  EXPECT_TRUE(energy.set_status("simulated + estimated"));
  EXPECT_EQ(energy.status, Status::kSimulated);
  EXPECT_TRUE(energy.mixed_with.contains(Status::kEstimated));
  EXPECT_EQ(energy.status_text(), "simulated + estimated");
  for (const char* bad : {"", "guessed", "simulated +", "simulated + guessed", " measured"}) {
    EXPECT_FALSE(energy.set_status(bad)) << bad;
    EXPECT_EQ(energy.status_text(), "simulated + estimated");
  }
  EXPECT_TRUE(energy.set_status("measured"));
  EXPECT_TRUE(energy.mixed_with.empty());
}

TEST(Energy, GradeFollowsRelativeUncertaintyAndIsNeverAboveDUnlessMeasured) {
  EXPECT_EQ(figure(100, 0.9, {}).grade(), Grade::kA);
  EXPECT_EQ(figure(100, 2.4, {}).grade(), Grade::kB);
  EXPECT_EQ(figure(100, 7, {}).grade(), Grade::kC);
  EXPECT_EQ(figure(100, 8, {}).grade(), Grade::kD);
  Energy simulated = figure(100, 0.1, {});
  simulated.status = Status::kSimulated;
  EXPECT_EQ(simulated.grade(), Grade::kD);
}

TEST(Energy, ScalingKeepsRelativeUncertaintyAndBounds) {
  Energy energy = figure(100, 3, {{"g", 4.0_J}});
  energy.lower = 90.0_J;
  energy.upper = 120.0_J;
  const Energy half = energy / 2;
  EXPECT_DOUBLE_EQ(half.standard_uncertainty().value(), 2.5);
  EXPECT_DOUBLE_EQ(half.lower.value(), 45);
  EXPECT_DOUBLE_EQ(half.upper.value(), 60);
}

TEST(Energy, ABoundStaysOneThroughSumsDifferencesAndMultiples) {
  const Energy known = figure(100, 3, {});
  Energy bound = figure(40, 1, {});
  bound.lower_bound = true;
  EXPECT_FALSE(known.one_sided());
  EXPECT_TRUE((known + bound).lower_bound);
  EXPECT_TRUE((bound + known).lower_bound);
  EXPECT_FALSE((known + bound).upper_bound);
  EXPECT_TRUE((bound - known).lower_bound);
  const Energy less = known - bound;
  EXPECT_TRUE(less.upper_bound);
  EXPECT_FALSE(less.lower_bound);
  EXPECT_TRUE((bound - bound).lower_bound && (bound - bound).upper_bound);
  EXPECT_TRUE((bound / 3).lower_bound);
  EXPECT_TRUE((bound * -1).upper_bound);
  EXPECT_EQ(bound.grade(), Grade::kD);
}
}  // namespace
}  // namespace perjoule
