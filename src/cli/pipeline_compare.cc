// perjoule pipeline compare: plans beside what else could be done with the same profile.
#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/pipeline_notes.h"
#include "cli/pipeline_options.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "pipeline/peers/envpipe.h"
#include "pipeline/peers/zeus_baselines.h"
#include "pipeline/plan/baselines.h"
#include "pipeline/plan/energy_error.h"
#include "pipeline/plan/planner.h"

namespace perjoule::cli {
namespace {

struct Row {
  std::string name;
  std::string method;  ///< for JSON
  Iteration iteration;
  std::optional<Joules> error;  ///< standard error of its energy
};

class Rows {
 public:
  explicit Rows(const PipelineProblem& problem) : problem_(problem) {}
  void add(std::string name, std::string method, const std::vector<std::uint32_t>& option) {
    rows_.push_back({std::move(name), std::move(method), simulate_iteration(problem_, option),
                     energy_error(problem_, option)});
  }
  void add(std::string name, std::string method, const PlannedIteration& planned) {
    rows_.push_back({std::move(name), std::move(method), planned.iteration,
                     energy_error(problem_, measured_options(problem_, planned.plan))});
  }
  std::vector<Row> take() && { return std::move(rows_); }

 private:
  const PipelineProblem& problem_;
  std::vector<Row> rows_;
};

std::vector<Row> rows_of(const PipelineProblem& problem, const PipelineStudy& study,
                         const PlannedIteration& same_time) {
  Rows rows(problem);
  rows.add("all at the highest setting", "highest", highest_settings(problem));
  rows.add("shortest plan", "plan_shortest", study.plans().front());
  rows.add("plan of the highest setting's time", "plan_same_time", same_time);
  rows.add("EnvPipe, balanced", "envpipe_balanced",
           env_pipe(problem, EnvPipeRaise::kBalanced).option);
  rows.add("EnvPipe, greedy", "envpipe_greedy", env_pipe(problem, EnvPipeRaise::kGreedy).option);
  const UniformSetting* best = nullptr;
  Joules at_best;
  const std::vector<UniformSetting> uniform = uniform_settings(problem);
  for (const UniformSetting& setting : uniform) {
    const Joules energy = simulate_iteration(problem, setting.option).energy;
    if (best != nullptr && energy >= at_best) continue;
    best = &setting;
    at_best = energy;
  }
  if (best != nullptr) {
    rows.add("one setting for all: " + best->knob.text(), "uniform", best->option);
  }
  for (const auto& [name, method, candidates] :
       {std::tuple("Zeus, one setting for all", "zeus_global", zeus_global(problem)),
        std::tuple("Zeus, a setting for each stage", "zeus_per_stage", zeus_per_stage(problem))}) {
    if (!candidates.empty()) rows.add(name, method, candidates.front().option);
  }
  for (const PlannedIteration& one : study.plans()) {
    if (one.plan.requested == study.least_energy()) {
      rows.add("plan of least energy", "plan_least_energy", one);
    }
  }
  rows.add("each instruction at its least energy", "least_energy_settings",
           least_energy_settings(problem));
  return std::move(rows).take();
}

/// With no regard to time every instruction takes its least: the most that bloat can be.
double most_saved(const PipelineProblem& problem, const PipelineStudy& study) {
  return 1 - simulate_iteration(problem, least_energy_settings(problem)).working /
                 study.highest().working;
}

Result<int> run(const Arguments& arguments) {
  PJ_TRY(const PipelineInput input, read_pipeline(arguments));
  const PipelineProblem& problem = *input.problem;
  const Iteration highest = simulate_iteration(problem, highest_settings(problem));
  PlanRequest request;
  request.slowdowns = {1};
  request.times = {problem.seconds(highest.makespan)};
  PJ_TRY(const PipelineStudy study, study_pipeline(problem, request));
  const PlannedIteration& same =
      study.for_straggler(highest.makespan, StragglerPolicy::kLeastUntil);
  const std::vector<Row> rows = rows_of(problem, study, same);
  // Of a long pipeline every row's time is solved by itself.
  std::optional<TimeCostFrontier> of_rows;
  if (!study.frontier().whole()) {
    ScheduleTimes wanted;
    for (const Row& row : rows) wanted.makespans.push_back(row.iteration.makespan);
    PJ_TRY(of_rows, problem.solve_only(wanted));
  }
  const TimeCostFrontier& least = of_rows ? *of_rows : study.frontier();
  const double theoretical = most_saved(problem, study);
  const double intrinsic = 1 - same.iteration.energy / study.highest().energy;
  if (arguments.json()) {
    Json json = Json::object();
    json["schema"] = "perjoule.pipeline-comparison.v1";
    add_provenance(json);
    json["profile"] = input.source;
    json["intrinsic_bloat"] = intrinsic;
    json["theoretical_maximum"] = theoretical;
    Json list = Json::array();
    for (const Row& row : rows) {
      Json one = Json::object();
      one["method"] = row.method;
      one["name"] = row.name;
      one["time_s"] = problem.seconds(row.iteration.makespan).value();
      one["energy_j"] = row.iteration.energy.value();
      one["energy_sigma_j"] = sigma_json(row.error);
      one["working_j"] = row.iteration.working.value();
      one["waiting_j"] = row.iteration.waiting.value();
      one["switches"] = static_cast<std::uint64_t>(row.iteration.switches);
      one["bound_j"] =
          problem.total_energy(least.cost_at(row.iteration.makespan), row.iteration.makespan)
              .value();
      list.push_back(std::move(one));
    }
    json["results"] = std::move(list);
    print(json.dump(2) + "\n");
    return kDone;
  }
  Table table(iteration_columns());
  std::vector<KnownEnergy> energies;
  const double fastest = static_cast<double>(study.highest().makespan);
  for (const Row& row : rows) {
    energies.push_back({row.iteration.energy, row.error});
    const Joules bound =
        problem.total_energy(least.cost_at(row.iteration.makespan), row.iteration.makespan);
    table.add(
        {row.name, to_text(problem.seconds(row.iteration.makespan)), to_text(row.iteration.energy),
         percent(1 - row.iteration.energy / study.highest().energy),
         percent(static_cast<double>(row.iteration.makespan) / fastest - 1),
         percent(row.iteration.energy / bound - 1, 2), std::to_string(row.iteration.switches)});
  }
  print(table.text());
  print(how_well_known(energies));
  print(fmt::format(
      "\nIntrinsic bloat, saved at the same time: {}. Every instruction at its least energy would "
      "take {} less while\nworking (the theoretical maximum). Bound: the least that any plan of "
      "that time can take. Reconstructed from {}.\n",
      percent(intrinsic), percent(theoretical), input.source));
  return kDone;
}

}  // namespace

Verb pipeline_compare_verb() {
  Verb verb;
  verb.name = "pipeline compare";
  verb.summary = "plans of a pipeline beside EnvPipe, Zeus and one clock for all";
  verb.description =
      "Simulates one iteration under each method on the same profile: time, energy, what it saves "
      "against all\ninstructions at the highest setting, and how far it is above the least that "
      "its time allows.";
  verb.positionals = {{"PROFILE", "CSV table of measured settings"}};
  verb.options = pipeline_options();
  verb.examples = {"perjoule pipeline compare profile.csv --microbatches 12 --blocking-power 84W"};
  verb.run = run;
  return verb;
}

}  // namespace perjoule::cli
