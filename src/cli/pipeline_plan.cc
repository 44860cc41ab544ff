// perjoule pipeline plan: the time-energy frontier of a training iteration and plans on it.
#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/pipeline_notes.h"
#include "cli/pipeline_options.h"
#include "cli/pipeline_plan_file.h"
#include "cli/progress.h"
#include "cli/scatter.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "pipeline/plan/baselines.h"
#include "pipeline/plan/energy_error.h"
#include "pipeline/plan/planner.h"

namespace perjoule::cli {
namespace {

constexpr std::int64_t kMostPoints = 100'000;

Result<PlanRequest> read_request(const Arguments& arguments) {
  PlanRequest request;
  PJ_TRY(const std::vector<std::string> times, arguments.list("time"));
  for (const std::string& word : times) {
    const auto time = parse_seconds(word);
    if (!time) return fail(time, "--time");
    request.times.push_back(*time);
  }
  PJ_TRY(const std::vector<std::string> slowdowns, arguments.list("slowdown"));
  for (const std::string& word : slowdowns) {
    const auto factor = parse_number(word);
    if (!factor) return Error::invalid_argument("--slowdown " + word + ": not a number");
    request.slowdowns.push_back(*factor);
  }
  const bool chosen = !request.times.empty() || !request.slowdowns.empty();
  if (arguments.has("points") || !chosen) {
    const auto points = parse_integer(arguments.value("points"));
    if (!points || *points < 1 || *points > kMostPoints) {
      return Error::invalid_argument(fmt::format("--points {}: not a count from 1 to {}",
                                                 arguments.value("points"), kMostPoints));
    }
    request.points = static_cast<int>(*points);
  }
  request.least_energy = !chosen;
  return request;
}

std::string table_of(const PipelineInput& input, const PipelineStudy& study) {
  const PipelineProblem& problem = *input.problem;
  const Iteration& highest = study.highest();
  Table table(iteration_columns());
  const double fastest = problem.seconds(highest.makespan).value();
  table.add({"all at the highest setting", to_text(problem.seconds(highest.makespan)),
             to_text(highest.energy), "", "", "", std::to_string(highest.switches)});
  for (const PlannedIteration& one : study.plans()) {
    const double time = problem.seconds(one.iteration.makespan).value();
    const Ticks requested = one.plan.requested;
    table.add({requested == study.shortest()       ? "shortest"
               : requested == study.least_energy() ? "least energy"
               : requested == study.longest()      ? "longest that saves"
                                                   : "",
               to_text(Seconds(time)), to_text(one.iteration.energy),
               percent(1 - one.iteration.energy / highest.energy), percent(time / fastest - 1),
               percent(one.gap(), 2), std::to_string(one.iteration.switches)});
  }
  return table.text();
}

std::vector<KnownEnergy> energies_of(const PipelineProblem& problem, const PipelineStudy& study) {
  std::vector<KnownEnergy> energies = {
      {study.highest().energy, energy_error(problem, highest_settings(problem))}};
  for (const PlannedIteration& one : study.plans()) {
    energies.push_back(
        {one.iteration.energy, energy_error(problem, measured_options(problem, one.plan))});
  }
  return energies;
}

std::string plot_of(const PipelineInput& input, const PipelineStudy& study) {
  const PipelineProblem& problem = *input.problem;
  std::vector<Dot> dots;
  const auto add = [&](Ticks time, Joules energy, char mark, int rank) {
    dots.push_back({problem.seconds(time).value(), energy.value(), mark, rank});
  };
  for (int i = 0; i <= 200; ++i) {
    const Ticks t = study.shortest() + (study.longest() - study.shortest()) * i / 200;
    add(t, problem.total_energy(study.frontier().cost_at(t), t), '.', 0);
  }
  for (const PlannedIteration& one : study.plans()) {
    add(one.iteration.makespan, one.iteration.energy, 'o', 1);
  }
  add(study.highest().makespan, study.highest().energy, 'x', 2);
  const auto [low, high] = std::minmax_element(
      dots.begin(), dots.end(), [](const Dot& a, const Dot& b) { return a.y < b.y; });
  const auto [fast, slow] = std::minmax_element(
      dots.begin(), dots.end(), [](const Dot& a, const Dot& b) { return a.x < b.x; });
  return scatter(dots,
                 {"time", "energy", to_text(Seconds(fast->x)), to_text(Seconds(slow->x)),
                  to_text(Joules(low->y)), to_text(Joules(high->y))},
                 64, 14);
}

Result<int> run(const Arguments& arguments) {
  PJ_TRY(PlanRequest request, read_request(arguments));
  if (arguments.has("changes") && !arguments.has("output") && !arguments.json()) {
    return Error::invalid_argument("--changes is given, and no plans are written",
                                   "it goes with --output FILE or --json");
  }
  PJ_TRY(const PipelineInput input, read_pipeline(arguments));
  if (arguments.has("output")) PJ_CHECK(check_writable(arguments.value("output")));
  std::optional<Progress> progress(std::in_place);
  request.progress = [&progress](std::size_t solved, std::size_t of) {
    progress->show(static_cast<double>(solved) / static_cast<double>(of), "solving times");
  };
  PJ_TRY(const PipelineStudy study, study_pipeline(*input.problem, request));
  progress.reset();
  const bool wants_file = arguments.has("output");
  std::string document;
  if (wants_file || arguments.json()) {
    document = plan_document(
        input, study, arguments.has("changes") ? PlanSettings::kChanges : PlanSettings::kInFull);
  }
  if (wants_file) PJ_CHECK(write_file_atomically(arguments.value("output"), document));
  if (arguments.json()) {
    print(document);
    return kDone;
  }
  print(input.heading() + "\n\n");
  print(table_of(input, study));
  print(how_well_known(energies_of(*input.problem, study)));
  print("\n" + plot_of(input, study));
  print(
      "\no plans of measured settings, . the least that any plan can take (bound), x all at the "
      "highest setting.\nReconstructed from the profile; energy until the iteration ends, of all "
      "stages, waiting included.\n");
  if (!study.frontier().whole()) {
    print(
        fmt::format("Of {} only the times planned are solved; between them the bound is what no "
                    "plan can be below.\n",
                    counted(static_cast<double>(input.schedule->size()), "instruction")));
  }
  if (wants_file) print(fmt::format("plans written to {}\n", arguments.value("output")));
  return kDone;
}

}  // namespace

Verb pipeline_plan_verb() {
  Verb verb;
  verb.name = "pipeline plan";
  verb.summary = "find the time-energy frontier of a pipeline's iteration, and plans on it";
  verb.description =
      "Reads what each instruction of each stage takes at each setting (CSV: stage, instruction, "
      "the knobs, time,\nenergy), finds the least energy of every iteration time exactly, and "
      "makes plans of measured settings. Each\nplan says how far above the least possible energy "
      "it is. docs/pipeline.md has the method.";
  verb.positionals = {{"PROFILE", "CSV table of measured settings"}};
  verb.options = pipeline_options();
  const std::vector<Option> own = {
      {"points", "COUNT", "plans, evenly over the iteration times that save anything", "20"},
      {"time", "TIME,...", "plan for these iteration times instead", "", true},
      {"slowdown", "FACTOR,...", "plan for these multiples of the shortest time instead", "", true},
      {"output", "FILE", "write the plans: JSON, docs/formats.md has the schema"},
      {"changes", "", "in it each plan's settings as what differs from the plan before"},
  };
  verb.options.insert(verb.options.end(), own.begin(), own.end());
  verb.examples = {
      "perjoule pipeline plan profile.csv --microbatches 12 --blocking-power 84W",
      "perjoule pipeline plan profile.csv --microbatches 96 --blocking-power 84W --slowdown 1,1.1 "
      "--output plans.json",
  };
  verb.run = run;
  return verb;
}

}  // namespace perjoule::cli
