// The exact frontier, plans and straggler savings on real and synthetic profiles, against
// references made by another program (linear programs on the same hulls).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/csv.h"
#include "base/test_data.h"
#include "pipeline/plan/baselines.h"
#include "pipeline/plan/planner.h"

namespace perjoule {
namespace {

struct Instance {
  std::string name;
  std::string profile;
  int microbatches;
  double blocking;
  double most_above = 0;  ///< of any plan above the bound, as a share
};

void PrintTo(const Instance& instance, std::ostream* out) { *out << instance.name; }

class Pipeline : public testing::TestWithParam<Instance> {
 protected:
  void load(const Instance& instance) {
    auto read = PipelineProfile::read(test_data_folder() + "/perseus/" + instance.profile);
    ASSERT_TRUE(read) << read.error().text();
    profile_.emplace(std::move(*read));
    schedule_.emplace(*make_schedule("1f1b", {profile_->stages(), instance.microbatches, 1}));
    auto made = PipelineProblem::make(*profile_, *schedule_, {Watts(instance.blocking), {}});
    ASSERT_TRUE(made) << made.error().text();
    problem_.emplace(std::move(*made));
  }
  std::optional<PipelineProfile> profile_;
  std::optional<PipelineSchedule> schedule_;
  std::optional<PipelineProblem> problem_;
};

class AgainstLp : public Pipeline {};

TEST_P(AgainstLp, FrontierIsExactAndPlansAreClose) {
  const Instance& instance = GetParam();
  PJ_TEST_DATA(path, "perseus/lp/" + instance.name + ".lp.csv");
  ASSERT_NO_FATAL_FAILURE(load(instance));
  const auto table = read_csv(path);
  ASSERT_TRUE(table) << table.error().text();
  const auto study = study_pipeline(*problem_, {.points = 20});
  ASSERT_TRUE(study) << study.error().text();
  EXPECT_EQ(static_cast<double>(study->shortest()), *table->number(0, 0));
  EXPECT_EQ(static_cast<double>(study->longest()), *table->number(table->rows() - 1, 0));
  double worst = 0;
  for (std::size_t row = 0; row < table->rows(); ++row) {
    const auto t = static_cast<Ticks>(*table->number(row, 0));
    const double effective = study->frontier().cost_at(t);
    worst = std::max(worst, std::abs(effective / *table->number(row, 1) - 1));
    const double total = problem_->total_energy(effective, t).value();
    worst = std::max(worst, std::abs(total / *table->number(row, 2) - 1));
  }
  EXPECT_LT(worst, 1e-8);
  double above = 0;
  for (const PlannedIteration& one : study->plans()) {
    EXPECT_LE(one.plan.makespan, one.plan.requested);
    EXPECT_EQ(one.iteration.makespan, one.plan.makespan);
    EXPECT_GE(one.gap(), -1e-9);
    above = std::max(above, one.gap());
    // What is simulated is what was planned: working and waiting make up the whole.
    const Joules until_the_end = problem_->total_energy(one.plan.effective, one.iteration.makespan);
    EXPECT_NEAR(one.iteration.energy / until_the_end, 1, 1e-6);
  }
  EXPECT_LE(above, instance.most_above);
  std::cout << instance.name << ": worst of 401 times " << worst << ", plans at most "
            << above * 100 << " % above the bound\n";
}

constexpr const char* kGpt = "real/stage_profile_gpt3-175b_a100_sxm.csv";
constexpr const char* kGptA40 = "real/stage_profile_gpt3-175b_a40.csv";
constexpr const char* kBloom = "real/stage_profile_bloom_a100_sxm.csv";
constexpr const char* kBloomA40 = "real/stage_profile_bloom_a40.csv";
constexpr const char* kSynA100 = "synthetic/syn_a100_gpt_s4.csv";
constexpr const char* kSynA100x8 = "synthetic/syn_a100_gpt_s8.csv";
constexpr const char* kSynA40 = "synthetic/syn_a40_uneven_s8.csv";

// syn_16x128 is in bench/pipeline: under the sanitizers it takes a minute.
INSTANTIATE_TEST_SUITE_P(Perseus, AgainstLp,
                         testing::Values(Instance{"syn_4x8", kSynA100, 8, 75, 0.002},
                                         Instance{"syn_4x16", kSynA100, 16, 75, 0.002},
                                         Instance{"syn_8x16", kSynA40, 16, 65, 0.002},
                                         Instance{"syn_8x32", kSynA40, 32, 65, 0.006},
                                         Instance{"syn_8x64", kSynA100x8, 64, 75, 0.006},
                                         Instance{"syn_8x128", kSynA100x8, 128, 75, 0.006},
                                         Instance{"gpt3_a100_8x12", kGpt, 12, 83.64, 0.002},
                                         Instance{"gpt3_a100_8x24", kGpt, 24, 83.64, 0.006},
                                         Instance{"gpt3_a100_8x48", kGpt, 48, 83.64, 0.006},
                                         Instance{"gpt3_a100_8x96", kGpt, 96, 83.64, 0.006},
                                         Instance{"gpt3_a40_8x12", kGptA40, 12, 70.38, 0.0035},
                                         Instance{"bloom_a100_8x12", kBloom, 12, 83.64, 0.002},
                                         Instance{"bloom_a40_8x12", kBloomA40, 12, 70.38, 0.0035}),
                         [](const auto& each) { return each.param.name; });

/// Long pipelines on A40, where one option is 6 % slower than the one before it: no reference by
/// linear programming, the bound is the solver's.
class PlansOnA40 : public Pipeline {};

TEST_P(PlansOnA40, AreClose) {
  PJ_TEST_DATA(path, "perseus/" + GetParam().profile);
  ASSERT_NO_FATAL_FAILURE(load(GetParam()));
  const auto study = study_pipeline(*problem_, {.points = 20});
  ASSERT_TRUE(study) << study.error().text();
  for (const PlannedIteration& one : study->plans()) {
    EXPECT_LE(one.iteration.makespan, one.plan.requested);
    EXPECT_LE(one.gap(), GetParam().most_above) << one.plan.requested;
  }
}

INSTANTIATE_TEST_SUITE_P(Perseus, PlansOnA40,
                         testing::Values(Instance{"gpt3_8x16", kGptA40, 16, 70.38, 0.0035},
                                         Instance{"bloom_8x16", kBloomA40, 16, 70.38, 0.0035},
                                         Instance{"gpt3_8x48", kGptA40, 48, 70.38, 0.006},
                                         Instance{"bloom_8x48", kBloomA40, 48, 70.38, 0.006}),
                         [](const auto& each) { return each.param.name; });

/// Percent saved against all at the highest setting while a straggler takes T' = factor x T.
struct Straggler {
  Instance instance;
  double t_star;                             ///< T* / T
  double t_eff;                              ///< T_eff / T
  std::vector<std::array<double, 3>> saved;  ///< factor, min(T*, T'), min(T_eff, T')
};

void PrintTo(const Straggler& straggler, std::ostream* out) { *out << straggler.instance.name; }

class Stragglers : public testing::TestWithParam<Straggler> {};

TEST_P(Stragglers, BothPoliciesSaveWhatTheyShould) {
  const Straggler& expected = GetParam();
  PJ_TEST_DATA(path, "perseus/" + expected.instance.profile);
  const auto profile = PipelineProfile::read(path);
  ASSERT_TRUE(profile) << profile.error().text();
  const auto schedule = make_schedule("1f1b", {profile->stages(), 12, 1});
  const auto problem =
      PipelineProblem::make(*profile, *schedule, {Watts(expected.instance.blocking), {}});
  ASSERT_TRUE(problem) << problem.error().text();
  const auto highest = simulate_iteration(*problem, highest_settings(*problem));
  const auto at_highest = static_cast<double>(highest.makespan);
  PlanRequest request;
  for (const auto& row : expected.saved) {
    request.times.push_back(problem->seconds(static_cast<Ticks>(at_highest * row[0])));
  }
  const auto study = study_pipeline(*problem, request);
  ASSERT_TRUE(study);
  EXPECT_NEAR(static_cast<double>(study->least_energy()) / at_highest, expected.t_star, 0.006);
  EXPECT_NEAR(static_cast<double>(study->longest()) / at_highest, expected.t_eff, 0.006);
  const Joules idle_second =
      problem->power().least() * Seconds(1) * static_cast<double>(profile->stages());
  for (const auto& [factor, alone, until] : expected.saved) {
    const auto t = static_cast<Ticks>(at_highest * factor);
    const Joules baseline = study->highest().energy +
                            idle_second * problem->seconds(t - study->highest().makespan).value();
    const auto saved = [&](Ticks planned) {
      return 100 * (1 - problem->total_energy(study->frontier().cost_at(planned), t) / baseline);
    };
    EXPECT_NEAR(saved(std::min(study->least_energy(), t)), alone, 0.06) << factor;
    EXPECT_NEAR(saved(std::min(study->longest(), t)), until, 0.06) << factor;
    // What the look-up answers is such a plan, of measured settings.
    const PlannedIteration& plan = study->for_straggler(t, StragglerPolicy::kLeastUntil);
    EXPECT_LE(plan.plan.makespan, t);
    EXPECT_NEAR(100 * (1 - problem->total_energy(plan.plan.effective, t) / baseline), until, 0.6);
    const PlannedIteration& published = study->for_straggler(t, StragglerPolicy::kLeastAlone);
    EXPECT_LE(published.plan.makespan, std::max(study->least_energy(), study->shortest()));
    EXPECT_LE(plan.plan.effective, published.plan.effective);
  }
}

INSTANTIATE_TEST_SUITE_P(Perseus, Stragglers,
                         testing::Values(Straggler{{"gpt3_a100", kGpt, 12, 83.64},
                                                   1.15,
                                                   1.50,
                                                   {{1.0, 16.1, 16.1},
                                                    {1.1, 25.4, 25.4},
                                                    {1.2, 26.4, 27.4},
                                                    {1.3, 25.8, 27.8},
                                                    {1.5, 24.6, 26.9}}},
                                         Straggler{{"gpt3_a40", kGptA40, 12, 70.38},
                                                   1.09,
                                                   1.21,
                                                   {{1.0, 12.7, 12.7},
                                                    {1.1, 23.7, 23.8},
                                                    {1.2, 22.9, 24.0},
                                                    {1.3, 22.2, 23.3},
                                                    {1.5, 20.9, 22.0}}},
                                         Straggler{{"bloom_a100", kBloom, 12, 83.64},
                                                   1.16,
                                                   1.50,
                                                   {{1.0, 12.5, 12.5},
                                                    {1.1, 27.3, 27.3},
                                                    {1.2, 29.0, 29.8},
                                                    {1.3, 28.3, 29.8},
                                                    {1.5, 27.0, 28.8}}},
                                         Straggler{{"bloom_a40", kBloomA40, 12, 70.38},
                                                   1.10,
                                                   1.33,
                                                   {{1.0, 10.9, 10.9},
                                                    {1.1, 21.5, 21.5},
                                                    {1.2, 21.0, 22.1},
                                                    {1.3, 20.4, 21.5},
                                                    {1.5, 19.2, 20.3}}}),
                         [](const auto& each) { return each.param.instance.name; });

}  // namespace
}  // namespace perjoule
