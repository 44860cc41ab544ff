// Baselines on real profiles, against published and recorded figures.
#include "pipeline/plan/baselines.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "base/csv.h"
#include "base/test_data.h"
#include "pipeline/peers/envpipe.h"
#include "pipeline/peers/zeus_baselines.h"
#include "pipeline/plan/planner.h"

namespace perjoule {
namespace {

struct Made {
  std::unique_ptr<PipelineProfile> profile;
  std::unique_ptr<PipelineSchedule> schedule;
  std::unique_ptr<PipelineProblem> problem;
};

Made make(const std::string& path, int microbatches, double blocking) {
  Made made;
  made.profile = std::make_unique<PipelineProfile>(*PipelineProfile::read(path));
  made.schedule = std::make_unique<PipelineSchedule>(
      *make_schedule("1f1b", {made.profile->stages(), microbatches, 1}));
  made.problem = std::make_unique<PipelineProblem>(
      *PipelineProblem::make(*made.profile, *made.schedule, {Watts(blocking), {}}));
  return made;
}

TEST(EnvPipeGolden, AllSixteenPublishedEmulations) {
  PJ_TEST_DATA(path, "perseus/real/published_envpipe_emulation.csv");
  const auto table = read_csv(path);
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows(), 16U);
  for (std::size_t row = 0; row < table->rows(); ++row) {
    const std::string model(table->cell(row, 0));
    const std::string device(table->cell(row, 2));
    const auto microbatches = static_cast<int>(*table->number(row, 3));
    const Made made =
        make(test_data_folder() + "/perseus/real/stage_profile_" + model + "_" + device + ".csv",
             microbatches, device == "a40" ? 70.38 : 83.64);
    const EnvPipeResult result = env_pipe(*made.problem, EnvPipeRaise::kBalanced);
    const Iteration iteration = simulate_iteration(*made.problem, result.option);
    // Profiles are one tenth of a stage on one of eight GPUs.
    SCOPED_TRACE(model + " " + device + " " + std::to_string(microbatches));
    EXPECT_NEAR(made.problem->seconds(iteration.makespan).value() * 10 / *table->number(row, 5), 1,
                1e-4);
    EXPECT_NEAR(iteration.energy.value() * 80 / *table->number(row, 6), 1, 2e-3);
  }
}

TEST(BaselinesGolden, AllAtTheHighestClock) {
  PJ_TEST_DATA(path, "perseus/lp_summary.csv");
  const auto table = read_csv(path);
  ASSERT_TRUE(table);
  const Made made =
      make(test_data_folder() + "/perseus/real/stage_profile_gpt3-175b_a100_sxm.csv", 12, 83.64);
  const Iteration iteration = simulate_iteration(*made.problem, highest_settings(*made.problem));
  EXPECT_NEAR(iteration.energy.value(), 7338.9973, 0.01);
  // Ours is a sum of times rounded to microseconds.
  EXPECT_NEAR(static_cast<double>(iteration.makespan), 2836511, 20);
}

TEST(BaselinesGolden, TheBestUniformClock) {
  PJ_TEST_DATA(path, "perseus/real/stage_profile_gpt3-175b_a100_sxm.csv");
  const Made made = make(path, 12, 83.64);
  Joules least(INFINITY);
  Iteration best;
  Config knob;
  for (const UniformSetting& setting : uniform_settings(*made.problem)) {
    Iteration iteration = simulate_iteration(*made.problem, setting.option);
    EXPECT_EQ(iteration.switches, 0U);
    if (iteration.energy >= least) continue;
    least = iteration.energy;
    best = std::move(iteration);
    knob = setting.knob;
  }
  EXPECT_EQ(knob.number("frequency"), 1080);
  EXPECT_NEAR(least.value(), 5717, 1);
  EXPECT_NEAR(made.problem->seconds(best.makespan).value(), 3.474, 1e-3);
}

TEST(BaselinesGolden, NoBaselineTakesLessThanTheBound) {
  PJ_TEST_DATA(folder, "perseus/real/stage_profile_gpt3-175b_a100_sxm.csv");
  for (const std::string job :
       {"gpt3-175b_a100_sxm", "gpt3-175b_a40", "bloom_a100_sxm", "bloom_a40"}) {
    const Made made = make(test_data_folder() + "/perseus/real/stage_profile_" + job + ".csv", 12,
                           job.find("a40") != std::string::npos ? 70.38 : 83.64);
    const auto frontier = made.problem->solve();
    ASSERT_TRUE(frontier);
    std::vector<std::vector<std::uint32_t>> all = {
        highest_settings(*made.problem), least_energy_settings(*made.problem),
        env_pipe(*made.problem, EnvPipeRaise::kBalanced).option,
        env_pipe(*made.problem, EnvPipeRaise::kGreedy).option};
    for (const auto& candidate : zeus_global(*made.problem)) all.push_back(candidate.option);
    for (const auto& candidate : zeus_per_stage(*made.problem)) all.push_back(candidate.option);
    for (const auto& option : all) {
      const Iteration iteration = simulate_iteration(*made.problem, option);
      const Joules bound =
          made.problem->total_energy(frontier->cost_at(iteration.makespan), iteration.makespan);
      EXPECT_GE(iteration.makespan, frontier->shortest());
      EXPECT_GE(iteration.energy.value(), bound.value() * (1 - 1e-6)) << job;
    }
  }
}

}  // namespace
}  // namespace perjoule
