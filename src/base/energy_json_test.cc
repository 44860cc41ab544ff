#include "base/energy_json.h"

#include <gtest/gtest.h>

#include <cmath>

namespace perjoule {
namespace {

using namespace literals;

Energy figure() {
  Energy energy;
  energy.joules = 12.1_J;
  energy.random = 0.1_J;
  energy.systematic = {{"gpu:0/gain", 0.3_J}, {"gpu:0/offset", -0.05_J}};
  energy.lower = 11.0_J;
  energy.source = "gpu:0";
  energy.status = Status::kMeasured;
  energy.boundary = Boundary::kNode;
  return energy;
}

TEST(EnergyJson, ReadsBackExactly) {
  const Energy before = figure();
  const auto parsed = parse_json(to_json(before).dump());
  ASSERT_TRUE(parsed);
  const auto after = energy_from_json(*parsed);
  ASSERT_TRUE(after) << after.error().text();
  EXPECT_EQ(after->joules, before.joules);
  EXPECT_EQ(after->random, before.random);
  ASSERT_EQ(after->systematic.size(), 2U);
  EXPECT_EQ(after->systematic[1].sensor, "gpu:0/offset");
  EXPECT_EQ(after->systematic[1].sigma, before.systematic[1].sigma);
  EXPECT_EQ(after->lower, before.lower);
  EXPECT_TRUE(std::isinf(after->upper.value()));
  EXPECT_EQ(after->boundary, Boundary::kNode);
  EXPECT_EQ(after->status, Status::kMeasured);
  EXPECT_EQ(after->source, "gpu:0");
}

TEST(EnergyJson, AMissingFigureHasNoValue) {
  const Json json = to_json(Energy::missing("gpu:1"));
  EXPECT_EQ(json.dump(),
            R"({"joules":null,"expanded_j":null,"status":"missing","grade":"D","boundary":"B0",)"
            R"("source":"gpu:1"})");
  EXPECT_EQ(energy_from_json(json)->status, Status::kMissing);
}

TEST(EnergyJson, ErrorsNameTheMember) {
  Json json = to_json(figure());
  json["status"] = "guessed";
  EXPECT_EQ(energy_from_json(json).error().message, "energy: unknown status: 'guessed'");
  json = to_json(figure());
  json["joules"] = "12";
  EXPECT_EQ(energy_from_json(json).error().message, "energy: 'joules' is missing or not a number");
  json = to_json(figure());
  json["upper_j"] = "far";
  EXPECT_EQ(energy_from_json(json).error().message, "energy: 'upper_j' is not a number");
  EXPECT_FALSE(energy_from_json(Json(3)));
}

TEST(EnergyJson, ExpandedAloneIsTakenAsRandom) {
  const auto parsed = parse_json(R"({"joules": 5, "expanded_j": 1, "status": "estimated"})");
  EXPECT_EQ(energy_from_json(*parsed)->random, 0.5_J);
}

TEST(EnergyJson, ABoundSaysSoAndNothingElseDoes) {
  Energy energy;
  energy.joules = Joules(944);
  energy.status = Status::kMeasured;
  EXPECT_EQ(to_json(energy).find("lower_bound"), nullptr);
  energy.lower_bound = true;
  const Json json = to_json(energy);
  EXPECT_EQ(json.find("lower_bound")->as_bool(), true);
  EXPECT_EQ(json.find("upper_bound"), nullptr);
  EXPECT_TRUE(energy_from_json(json)->lower_bound);
  EXPECT_FALSE(energy_from_json(json)->upper_bound);
  Json bad = json;
  bad["lower_bound"] = 1;
  EXPECT_EQ(energy_from_json(bad).error().message, "energy: 'lower_bound' is not a boolean");
}
}  // namespace
}  // namespace perjoule
