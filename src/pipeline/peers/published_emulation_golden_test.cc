// What Perseus publishes for its emulations of large jobs, from its own frontiers, and the same
// figures from plans made here on the same profiles.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "base/csv.h"
#include "base/test_data.h"
#include "base/xz.h"
#include "pipeline/plan/baselines.h"
#include "pipeline/plan/planner.h"

namespace perjoule {
namespace {

/// An emulated job: profiles are one tenth of a stage, on one of eight GPUs, which cancels in
/// shares.
struct Job {
  const char* name;  ///< as the files have it
  double blocking;
  /// Percent saved at no cost in time, by microbatches 12, 24, 48, 96; and here.
  double intrinsic[4];
  double here[4];
  /// Percent saved by 16 pipelines of 96 microbatches of which one takes 1.2 times as long; here by
  /// the published policy and by the default one.
  double whole;
  double whole_alone;
  double whole_until;
};

void PrintTo(const Job& job, std::ostream* out) { *out << job.name; }

constexpr int kMicrobatches[] = {12, 24, 48, 96};
constexpr int kPipelines = 16;
constexpr double kSlowdown = 1.2;

struct Point {
  double time = 0;
  double energy = 0;
};

/// The published frontier, slowest first.
std::vector<Point> published_frontier(const std::string& job, int microbatches) {
  std::string path = test_data_folder() + "/perseus/real/published_frontier_" + job + "_mb" +
                     std::to_string(microbatches) + ".csv";
  if (!path_exists(path)) path += ".xz";
  const CsvTable table = *parse_csv(*read_maybe_xz(path), path);
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    points.push_back({*table.number(row, 0), *table.number(row, 1)});
  }
  return points;
}

class Emulation : public testing::TestWithParam<Job> {
 protected:
  void load(int microbatches) {
    const std::string path =
        test_data_folder() + "/perseus/real/stage_profile_" + GetParam().name + ".csv";
    profile_ = std::make_unique<PipelineProfile>(*PipelineProfile::read(path));
    schedule_ = std::make_unique<PipelineSchedule>(
        *make_schedule("1f1b", {profile_->stages(), microbatches, 1}));
    problem_ = std::make_unique<PipelineProblem>(
        *PipelineProblem::make(*profile_, *schedule_, {Watts(GetParam().blocking), {}}));
    const Iteration highest = simulate_iteration(*problem_, highest_settings(*problem_));
    highest_ = {problem_->seconds(highest.makespan).value(), highest.energy.value()};
  }
  /// What all stages draw while they wait.
  double waiting() const { return GetParam().blocking * profile_->stages(); }
  PipelineStudy study(std::vector<Seconds> times) const {
    return *study_pipeline(*problem_, {.points = 0, .times = std::move(times)});
  }
  std::unique_ptr<PipelineProfile> profile_;
  std::unique_ptr<PipelineSchedule> schedule_;
  std::unique_ptr<PipelineProblem> problem_;
  Point highest_;  ///< all instructions at the highest clock
};

TEST_P(Emulation, IntrinsicSaving) {
  const Job& job = GetParam();
  PJ_TEST_DATA(path, std::string("perseus/real/stage_profile_") + job.name + ".csv");
  for (std::size_t i = 0; i < std::size(kMicrobatches); ++i) {
    SCOPED_TRACE(kMicrobatches[i]);
    ASSERT_NO_FATAL_FAILURE(load(kMicrobatches[i]));
    // The peer's times are sums of times rounded down to a unit. Its baseline ends where its
    // fastest plan does, which is earlier than all instructions at the highest clock really end.
    const Point fastest = published_frontier(job.name, kMicrobatches[i]).back();
    const double baseline = highest_.energy - waiting() * (highest_.time - fastest.time);
    EXPECT_LT(fastest.time, highest_.time);
    EXPECT_NEAR(100 * (1 - fastest.energy / baseline), job.intrinsic[i], 0.051);
    // Here: a plan of measured settings, simulated, in the time that the highest clock takes.
    const PipelineStudy ours = study({Seconds(highest_.time)});
    const PlannedIteration& plan =
        ours.for_straggler(ours.highest().makespan, StragglerPolicy::kLeastUntil);
    EXPECT_LE(plan.iteration.makespan, ours.highest().makespan);
    const double saved = 100 * (1 - plan.energy.value() / highest_.energy);
    EXPECT_NEAR(saved, job.here[i], 0.2);
    EXPECT_GE(saved, job.intrinsic[i]);
    std::cout << job.name << " x" << kMicrobatches[i] << ": published " << job.intrinsic[i]
              << ", here " << saved << "\n";
  }
}

TEST_P(Emulation, AWholeJobWithAStraggler) {
  const Job& job = GetParam();
  PJ_TEST_DATA(path, std::string("perseus/real/stage_profile_") + job.name + ".csv");
  ASSERT_NO_FATAL_FAILURE(load(96));
  // Energy of the straggler, which also runs its fastest plan, and of those that wait for it.
  const auto whole = [&](const Point& straggler, const Point& other, double until) {
    return kSlowdown * straggler.energy +
           (kPipelines - 1) * (other.energy + waiting() * (until - other.time));
  };
  const auto saved = [&](double energy, const Point& baseline, double until) {
    return 100 * (1 - energy / whole(baseline, baseline, until));
  };
  {
    const std::vector<Point> frontier = published_frontier(job.name, 96);
    const Point fastest = frontier.back();
    const Point baseline{fastest.time,
                         highest_.energy - waiting() * (highest_.time - fastest.time)};
    const double until = kSlowdown * fastest.time;
    const auto least =
        std::min_element(frontier.begin(), frontier.end(),
                         [](const Point& a, const Point& b) { return a.energy < b.energy; });
    const auto chosen = std::find_if(frontier.begin(), frontier.end(), [&](const Point& point) {
      return point.time <= std::min(until, least->time);
    });
    EXPECT_NEAR(saved(whole(fastest, *chosen, until), baseline, until), job.whole, 0.051);
  }
  const double until = kSlowdown * highest_.time;
  const PipelineStudy ours = study({Seconds(highest_.time), Seconds(until)});
  const auto point = [&](Ticks time, StragglerPolicy policy) {
    const PlannedIteration& plan = ours.for_straggler(time, policy);
    return Point{problem_->seconds(plan.iteration.makespan).value(), plan.iteration.energy.value()};
  };
  const Point straggler = point(ours.highest().makespan, StragglerPolicy::kLeastUntil);
  const Ticks end = problem_->ticks(Seconds(until));
  const auto with = [&](StragglerPolicy policy) {
    return saved(whole(straggler, point(end, policy), until), highest_, until);
  };
  const double alone = with(StragglerPolicy::kLeastAlone);
  const double least = with(StragglerPolicy::kLeastUntil);
  EXPECT_NEAR(alone, job.whole_alone, 0.2);
  EXPECT_NEAR(least, job.whole_until, 0.2);
  EXPECT_GE(least, alone);
  std::cout << job.name << ": published " << job.whole << ", here " << alone << ", until T' "
            << least << "\n";
}

INSTANTIATE_TEST_SUITE_P(
    Perseus, Emulation,
    testing::Values(
        Job{"gpt3-175b_a100_sxm",
            83.64,
            {15.2, 14.2, 13.6, 13.3},
            {15.9, 14.7, 14.1, 13.7},
            27.0,
            28.4,
            28.5},
        Job{"gpt3-175b_a40",
            70.38,
            {11.8, 10.2, 9.3, 8.9},
            {12.4, 10.9, 10.1, 9.7},
            23.6,
            25.3,
            26.1},
        Job{"bloom_a100_sxm",
            83.64,
            {10.5, 7.1, 5.2, 4.3},
            {12.3, 8.8, 6.8, 5.8},
            29.9,
            30.4,
            30.4},
        Job{"bloom_a40", 70.38, {7.0, 4.5, 3.1, 2.4}, {10.7, 7.8, 6.2, 5.4}, 21.1, 23.1, 23.6}),
    [](const auto& each) {
      std::string name = each.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

}  // namespace
}  // namespace perjoule
