// What the trainings' policies regret, and how long a simulation takes as a whole process.
#include <fmt/format.h>

#include <cmath>

#include "base/file.h"
#include "figure.h"
#include "process_start.h"
#include "train/evaluate.h"

namespace pb = perjoule::bench;

namespace {

using namespace perjoule;

/// Zeus's own simulator, V100, 20 seeds, in the order of zeus_workloads().
constexpr double kZeusRegret[] = {8.13, 1.73, 1.69, 4.39, 9.97, 14.03};
constexpr double kZeusSaved[] = {38.2, 18.1, 20.9, 19.1, 74.8, 65.2};

PolicyEvaluation evaluated(const std::string& policy, const WorkloadTrace& trace, int seeds) {
  PolicyChoice choice;
  choice.name = policy;
  EvaluationOptions options;
  options.seeds = seeds;
  return pb::must(evaluate_policy(trace, choice, options));
}

void print_zeus(const std::vector<WorkloadTrace>& traces) {
  std::string detail = "energy saved in the last five recurrences, %, ours and theirs:";
  double worst = 0;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const PolicyEvaluation ours = evaluated("zeus", traces[i], 200);
    detail += fmt::format(" {} {:.1f} and {}", traces[i].workload.name,
                          100 * ours.last_energy_saved.mean, kZeusSaved[i]);
    worst = std::max(worst, std::abs(100 * ours.last_energy_saved.mean - kZeusSaved[i]));
  }
  pb::print({.figure = "train_zeus",
             .value = worst,
             .unit = "points off at most",
             .bar = "<= 1.5; a test holds each job to 3 standard errors",
             .pass = worst < 1.5,
             .detail = detail + "; 200 seeds of ours, 20 of theirs"});
}

void print_perjoule(const std::vector<WorkloadTrace>& traces) {
  double logs = 0;
  bool below = true;
  std::string detail = "regret in optimal costs, ours and Zeus's:";
  int resnet_below = 0;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const PolicyEvaluation ours = evaluated("perjoule", traces[i], 200);
    logs += std::log(ours.regret.mean / kZeusRegret[i]) / static_cast<double>(traces.size());
    below = below && ours.regret.mean < kZeusRegret[i];
    detail +=
        fmt::format(" {} {:.2f} and {}", traces[i].workload.name, ours.regret.mean, kZeusRegret[i]);
    if (traces[i].workload.name == "resnet50")
      resnet_below = evaluated("perjoule", traces[i], 20).cheaper_seeds;
  }
  const double ratio = 100 * std::exp(logs);
  pb::print({.figure = "train_regret",
             .value = ratio,
             .unit = "% of Zeus's regret, geometric mean of six jobs",
             .bar = "<= 60, and below on each",
             .pass = ratio <= 60 && below,
             .detail = detail + "; 200 seeds"});
  pb::print({.figure = "train_resnet",
             .value = static_cast<double>(resnet_below),
             .unit = "of 20 seeds",
             .bar = ">= 15",
             .pass = resnet_below >= 15,
             .detail = "cumulative cost below the default's at the end of 70 recurrences"});
}

void print_times(const std::string& traces) {
  const pb::Start single = pb::best_median(
      {PERJOULE_COMMAND, "train", "simulate", "--trace", traces, "--workload", "deepspeech2"}, 10,
      5);
  pb::print(
      {.figure = "train_single_time",
       .value = single.wall * 1e3,
       .unit = "ms",
       .bar = "<= 20",
       .pass = single.wall <= 20e-3,
       .detail = fmt::format("DeepSpeech2, 210 recurrences, whole process, wall; user {:.1f} ms",
                             single.user * 1e3)});
  const pb::Start cluster =
      pb::best_median({PERJOULE_COMMAND, "train", "simulate", "--trace", traces, "--groups",
                       traces + "/synthetic_groups.csv.xz"},
                      3, 3);
  pb::print({.figure = "train_groups_time",
             .value = cluster.wall,
             .unit = "s",
             .bar = "<= 0.5",
             .pass = cluster.wall <= 0.5,
             .detail = fmt::format("10,065 jobs in 300 groups, whole process, wall; user {:.2f} s",
                                   cluster.user)});
}

}  // namespace

int main() {
  const std::string traces = environment("PERJOULE_DATA") + "/zeus_nsdi23";
  const TraceTables tables = pb::must(TraceTables::read(traces, "v100"));
  std::vector<WorkloadTrace> selected;
  for (const Workload& workload : zeus_workloads())
    selected.push_back(pb::must(tables.select(workload)));
  print_zeus(selected);
  print_perjoule(selected);
  print_times(traces);
}
