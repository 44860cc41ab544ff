#include "meter/attribution.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

namespace perjoule {
namespace {

Energy measured(double joules) {
  Energy energy;
  energy.joules = Joules(joules);
  energy.status = Status::kMeasured;
  return energy;
}

TEST(Attribution, SharesSumToTheMeasuredTotal) {
  EXPECT_TRUE(rc::check("conservation", [] {
    const double total = *rc::gen::inRange(0, 1'000'000) * 0.37;
    std::vector<Weight> weights;
    for (const int amount : *rc::gen::container<std::vector<int>>(rc::gen::inRange(-5, 1000))) {
      weights.push_back({std::to_string(weights.size()), amount * 0.01});
    }
    const auto idle = *rc::gen::maybe(
        rc::gen::map(rc::gen::inRange(-10, 2'000'000), [](int j) { return Joules(j); }));
    double sum = 0;
    for (const Attributed& part : attribute(
             measured(total), idle ? std::optional<Joules>(*idle) : std::nullopt, weights, 100)) {
      RC_ASSERT(part.share >= 0);
      sum += part.energy.joules.value();
    }
    RC_ASSERT(std::abs(sum - total) <= 1e-9 * (1 + total));
  }));
}

TEST(Attribution, IdleDoesNotVanishUnderFullLoad) {
  // A peer's idle power is a residual and falls to 0 at 100 % load.
  const auto parts = attribute(measured(1000), Joules(300), {{"job", 10}}, 1000);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_DOUBLE_EQ(parts[0].energy.joules.value(), 300);
  EXPECT_DOUBLE_EQ(parts[1].energy.joules.value(), 700);
}

TEST(Attribution, NobodyBusyLeavesTheRestUnattributed) {
  const auto parts = attribute(measured(10), std::nullopt, {{"a", 0}, {"b", -1}}, 1);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].owner, kUnattributedOwner);
}

TEST(Attribution, AShareOfAMeasuredTotalIsAnEstimate) {
  const auto parts = attribute(measured(10), std::nullopt, {{"a", 1}, {"b", 1}}, 100);
  EXPECT_EQ(parts[0].energy.status, Status::kEstimated);
  EXPECT_NEAR(parts[0].energy.random.value(), 10 * std::sqrt(0.25 / 103), 1e-12);
}

TEST(Attribution, AShareSeenInFewLooksIsNoCertainty) {
  for (const double looks : {1.0, 2.0, 10.0}) {
    const auto parts = attribute(measured(100), std::nullopt, {{"a", 0}, {"b", 3}}, looks);
    EXPECT_EQ(parts[0].energy.joules.value(), 0);
    EXPECT_EQ(parts[1].energy.joules.value(), 100);
    EXPECT_NEAR(parts[0].energy.random.value(), parts[1].energy.random.value(), 1e-9);
    EXPECT_GT(parts[0].energy.random.value(), looks < 3 ? 15 : 5) << looks;
  }
}

TEST(Attribution, WhoeverIsAskedASharesBoundsHoldIt) {
  Energy total = measured(100);
  total.status = Status::kSimulated;
  total.lower = Joules(90);
  total.upper = Joules(110);
  for (const Attributed& part : attribute(total, std::nullopt, {{"a", 1}, {"b", 1}}, 2)) {
    EXPECT_EQ(part.energy.lower.value(), 0);
    EXPECT_EQ(part.energy.upper.value(), 110);
  }
  // Whoever is told an estimate is told its interval: the count is in it.
  total.status = Status::kEstimated;
  for (const Attributed& part : attribute(total, std::nullopt, {{"a", 1}, {"b", 1}}, 97)) {
    EXPECT_NEAR(part.energy.lower.value(), 90 * (0.5 - 0.1), 1e-9);
    EXPECT_NEAR(part.energy.upper.value(), 110 * (0.5 + 0.1), 1e-9);
  }
}

TEST(Attribution, OneOwnerHasItAllForCertain) {
  const auto parts = attribute(measured(100), std::nullopt, {{"a", 1}}, 1);
  EXPECT_EQ(parts[0].energy.random.value(), 0);
  EXPECT_EQ(parts[0].energy.status, Status::kMeasured);
}
}  // namespace
}  // namespace perjoule
