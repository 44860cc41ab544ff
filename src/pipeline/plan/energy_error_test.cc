#include "pipeline/plan/energy_error.h"

#include <gtest/gtest.h>

#include <cmath>

#include "pipeline/plan/baselines.h"

namespace perjoule {
namespace {

/// One stage whose forward and backward have a high and a low clock, at these standard errors.
class EnergyErrorTest : public testing::Test {
 protected:
  void make(const std::string& rows, const ScheduleShape& shape, std::string_view name = "1f1b") {
    auto profile =
        PipelineProfile::parse("stage,instruction,clock,time,energy,energy_spread\n" + rows, "p");
    ASSERT_TRUE(profile) << profile.error().text();
    profile_ = std::make_unique<PipelineProfile>(std::move(*profile));
    auto schedule = make_schedule(name, shape);
    ASSERT_TRUE(schedule) << schedule.error().text();
    schedule_ = std::make_unique<PipelineSchedule>(std::move(*schedule));
    auto problem = PipelineProblem::make(*profile_, *schedule_, {Watts(50), {}});
    ASSERT_TRUE(problem) << problem.error().text();
    problem_ = std::make_unique<PipelineProblem>(std::move(*problem));
  }
  std::optional<Joules> error(const std::vector<std::uint32_t>& option) const {
    return energy_error(*problem_, option);
  }
  std::unique_ptr<PipelineProfile> profile_;
  std::unique_ptr<PipelineSchedule> schedule_;
  std::unique_ptr<PipelineProblem> problem_;
};

constexpr const char* kRows =
    "0,forward,1400,1,100,3\n0,forward,1000,1.5,80,2\n"
    "0,backward,1400,2,210,4\n0,backward,1000,3,170,5\n";

TEST_F(EnergyErrorTest, OfOneOptionCountsAsOftenAsItIsUsedAndOfOthersInQuadrature) {
  make(kRows, {.stages = 1, .microbatches = 3});
  // F0 B0 F1 B1 F2 B2, all at the high clock: three of 3 J and three of 4 J.
  EXPECT_NEAR(error({0, 0, 0, 0, 0, 0})->value(), 3 * std::hypot(3, 4), 1e-12);
  // One forward at the low clock is measured by itself.
  EXPECT_NEAR(error({0, 0, 1, 0, 0, 0})->value(), std::hypot(2 * 3, 1 * 2, 3 * 4), 1e-12);
}

TEST_F(EnergyErrorTest, ChunksThatTheProfileDoesNotTellApartShareTheirErrors) {
  make(kRows, {.stages = 1, .microbatches = 2, .chunks = 2}, "interleaved");
  EXPECT_NEAR(error(std::vector<std::uint32_t>(8, 0))->value(), 4 * std::hypot(3, 4), 1e-12);
}

TEST_F(EnergyErrorTest, StagesAreMeasuredEachByItself) {
  make(std::string(kRows) + "1,forward,1400,1,100,3\n1,backward,1400,2,210,4\n",
       {.stages = 2, .microbatches = 2});
  EXPECT_NEAR(error(highest_settings(*problem_))->value(), 2 * std::hypot(5, 5), 1e-12);
}

TEST_F(EnergyErrorTest, IsUnknownWhereAnOptionThatIsUsedDoesNotSayIt) {
  make("0,forward,1400,1,100,3\n0,forward,1000,1.5,80,\n0,backward,1400,2,210,4\n",
       {.stages = 1, .microbatches = 1});
  EXPECT_NEAR(error({0, 0})->value(), 5, 1e-12);
  EXPECT_FALSE(error({1, 0}));
  make("0,forward,1400,1,100,0\n0,backward,1400,2,210,4\n", {.stages = 1, .microbatches = 1});
  EXPECT_FALSE(error({0, 0}));  // nothing is measured exactly
}

TEST_F(EnergyErrorTest, RepeatsSayItAndFactorsMultiplyIt) {
  make("0,forward,1400,1,99,\n0,forward,1400,1,101,\n0,backward,1400,2,210,4\n",
       {.stages = 1, .microbatches = 1});
  // A spread of sqrt(2) J between two: 1 J of their mean.
  EXPECT_NEAR(error({0, 0})->value(), std::hypot(1, 4), 1e-12);
  profile_->scale(1, 8);
  EXPECT_NEAR(error({0, 0})->value(), 8 * std::hypot(1, 4), 1e-12);
}

TEST(IterationEnergy, IsReconstructedOfBoardsAndItsGradeIsThatOfTheStatus) {
  const Energy energy = iteration_energy(Joules(100), Joules(0.5), "p.csv");
  EXPECT_EQ(energy.status_text(), "reconstructed");
  EXPECT_EQ(energy.boundary, Boundary::kDevice);
  EXPECT_EQ(energy.grade(), Grade::kD);  // no figure that was not measured has a better one
  EXPECT_EQ(energy.expanded_uncertainty(), Joules(1));
}

}  // namespace
}  // namespace perjoule
