// How far plans of measured settings are from what is possible: from the bound (linear), from the
// best choice that a mixed-integer solver finds when it begins with the plan, and from what it
// proves that no choice is below.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/text.h"
#include "figure.h"
#include "pipeline/plan/discrete_program.h"
#include "pipeline/plan/planner.h"

namespace pb = perjoule::bench;

namespace {

using namespace perjoule;

struct Instance {
  const char* name;
  const char* profile;
  int microbatches;
  double blocking;
  const char* peer;  ///< how far above the bound lowtime's plans are, all times: least and most, %
};

constexpr Instance kInstances[] = {
    {"synthetic A100 4x4", "synthetic/syn_a100_gpt_s4.csv", 4, 75, "-"},
    {"synthetic A100 4x8", "synthetic/syn_a100_gpt_s4.csv", 8, 75, "0.39 to 0.65"},
    {"GPT-3 A100 8x12", "real/stage_profile_gpt3-175b_a100_sxm.csv", 12, 83.64, "0.79 to 1.67"},
    {"GPT-3 A40 8x12", "real/stage_profile_gpt3-175b_a40.csv", 12, 70.38, "0.19 to 1.80"},
};

/// The shortest time, and shares of the way from it to the longest that saves.
constexpr double kPlaces[] = {0, 0.1, 0.25, 0.5, 0.75};

struct Worst {
  double of_plan = 0;      ///< above the bound, %
  double to_found = 0;     ///< plan above what was found, % of the bound
  double to_proven = 0;    ///< plan above what is proven, % of the bound
  int proven_optimal = 0;  ///< how many were solved to the end
  int rows = 0;
};

void compare(const std::string& data, const Instance& one, double seconds, Worst& worst) {
  const auto profile = pb::must(PipelineProfile::read(data + "/" + one.profile));
  const auto schedule = pb::must(make_schedule("1f1b", {profile.stages(), one.microbatches, 1}));
  const auto problem =
      pb::must(PipelineProblem::make(profile, schedule, {Watts(one.blocking), {}}));
  PlanRequest request;
  request.least_energy = false;
  const Ticks range = problem.longest() - problem.shortest();
  for (const double place : kPlaces) {
    const Ticks time = problem.shortest() + std::llround(place * static_cast<double>(range));
    request.times.push_back(problem.seconds(time));
  }
  const auto study = pb::must(study_pipeline(problem, request));
  for (const PlannedIteration& planned : study.plans()) {
    const PipelinePlan& plan = planned.plan;
    const DiscreteBest best =
        least_of_options(problem, plan.requested, plan.option, {.seconds = seconds});
    // Shares of what all stages take until then, waiting included: as `gap` in the plans' file.
    const double bound = planned.bound.value();
    const auto above = [&](double effective) { return 100 * (effective - plan.bound) / bound; };
    const double found = std::min(best.found, plan.effective);
    const double of_plan = above(plan.effective);
    fmt::print(
        "{:<20} {:>8.4f} s  plan {:.3f}  found {:.3f}  proven {:.3f}  plan - found {:.3f}"
        "  {}  lowtime {}\n",
        one.name, problem.seconds(plan.requested).value(), of_plan, above(found),
        above(best.proven), of_plan - above(found), best.optimal ? "optimal" : "time is up",
        one.peer);
    std::fflush(stdout);
    worst.of_plan = std::max(worst.of_plan, of_plan);
    worst.to_found = std::max(worst.to_found, of_plan - above(found));
    worst.to_proven = std::max(worst.to_proven, of_plan - above(best.proven));
    worst.proven_optimal += best.optimal ? 1 : 0;
    ++worst.rows;
  }
}

}  // namespace

int main(int count, char** words) {
  const std::string data = environment("PERJOULE_DATA") + "/perseus";
  // More seconds find and prove more; what docs/pipeline.md shows had 40 for each time.
  double seconds = 5;
  if (count > 1) seconds = parse_number(words[1]).value_or(seconds);
  Worst worst;
  std::string detail = fmt::format(
      "% of the bound; CBC begins with the plan and has {:g} CPU seconds for each time;", seconds);
  for (const Instance& one : kInstances) {
    Worst its;
    compare(data, one, seconds, its);
    detail += fmt::format(
        " {}: plan at most {:.3f} above the bound, {:.3f} above what was found, {:.3f} above what "
        "is "
        "proven ({} of {} to the end), lowtime {};",
        one.name, its.of_plan, its.to_found, its.to_proven, its.proven_optimal, its.rows, one.peer);
    worst.to_found = std::max(worst.to_found, its.to_found);
  }
  detail.pop_back();
  pb::print({.figure = "pipeline_quality",
             .value = worst.to_found,
             .unit = "% of the bound, worst of 20 plans",
             .bar = "<= 0.1",
             .pass = worst.to_found <= 0.1,
             .detail = detail});
}
