// What planning again costs after one stage's profile has changed: from the exact schedule before
// (replan), beside solving all anew.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/file.h"
#include "figure.h"
#include "math/statistic.h"
#include "pipeline/plan/planner.h"
#include "pipeline_instances.h"

namespace pb = perjoule::bench;

namespace {

using namespace perjoule;

constexpr int kRepeats = 5;
constexpr double kBar = 5;

double wall() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The quickest of some calls, s.
template <typename Call>
double quickest(const Call& call) {
  double least = INFINITY;
  for (int i = 0; i < kRepeats; ++i) {
    const double before = wall();
    call();
    least = std::min(least, wall() - before);
  }
  return least;
}

struct Change {
  const char* name;
  double time;
  double energy;
};

/// The profile with all options of one stage changed.
PipelineProfile changed(const PipelineProfile& profile, const Change& change) {
  std::vector<ProfiledInstruction> instructions = profile.instructions();
  for (ProfiledInstruction& one : instructions) {
    if (one.stage != profile.stages() / 2) continue;
    for (KnobOption& option : one.options) {
      option.time *= change.time;
      option.energy *= change.energy;
    }
  }
  return pb::must(PipelineProfile::make(std::move(instructions), profile.name()));
}

struct Times {
  double cold = 0;
  double warm = 0;
  double gap = 0;
};

/// One plan of a time in the middle of what was planned before, both ways.
Times plan_again(const pb::Pipeline& after, const PipelineStudy& before, double share) {
  const Ticks shortest = after.problem.shortest();
  const Ticks longest = after.problem.longest();
  const auto makespan =
      shortest + static_cast<Ticks>(share * static_cast<double>(longest - shortest));
  const Seconds time = after.problem.seconds(makespan);
  Times times;
  times.cold = quickest(
      [&] { pb::must(study_pipeline(after.problem, {.times = {time}, .least_energy = false})); });
  const Schedule& from = before.schedule_near(makespan);
  times.warm =
      quickest([&] { times.gap = pb::must(replan(after.problem, from, time)).plan.gap(); });
  return times;
}

void print_instance(const std::string& data, const pb::PipelineInstance& one) {
  const pb::Pipeline before(data + "/" + one.profile, one.microbatches, one.blocking);
  const auto study = pb::must(study_pipeline(before.problem, {.points = 20}));
  std::string detail = one.shape + ", one stage of it changed, ms anew and from before:";
  double worst = INFINITY;
  double worst_gap = 0;
  for (const Change& change :
       {Change{"energy +5 %", 1, 1.05}, {"time +3 %", 1.03, 1.03}, {"time +10 %", 1.1, 1.1}}) {
    const pb::Pipeline after(changed(before.profile, change), one.microbatches, one.blocking);
    detail += fmt::format(" {}", change.name);
    for (const double share : {0.0, 0.2, 0.5, 0.8}) {
      const Times times = plan_again(after, study, share);
      worst = std::min(worst, times.cold / times.warm);
      worst_gap = std::max(worst_gap, times.gap);
      detail += fmt::format(" {:.1f}/{:.1f}", times.cold * 1e3, times.warm * 1e3);
    }
    detail += ";";
  }
  pb::print({.figure = one.figure + "_replan",
             .value = worst,
             .unit = "times quicker, worst of 12",
             .bar = fmt::format(">= {:g}", kBar),
             .pass = worst >= kBar,
             .detail = detail + fmt::format(" at most {:.2f} % above the bound", 100 * worst_gap)});
}

}  // namespace

int main() {
  const std::string data = environment("PERJOULE_DATA") + "/perseus";
  for (const pb::PipelineInstance& one : pb::pipeline_instances()) {
    if (one.shape != "8x12") print_instance(data, one);
  }
}
