// perjoule pipeline simulate: one iteration at a plan, at one setting or at the highest, stage by
// stage.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/gantt.h"
#include "cli/pipeline_iteration_file.h"
#include "cli/pipeline_options.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "pipeline/baselines.h"
#include "pipeline/planner.h"

namespace perjoule::cli {
namespace {

/// The iteration that all instructions take at one setting.
Result<SimulatedIteration> at_uniform(const PipelineProblem& problem, const std::string& value) {
  std::string there;
  for (UniformSetting& one : uniform_settings(problem)) {
    const auto first = one.knob.empty() ? std::string_view() : (*one.knob.settings().begin()).value;
    if (value == first || value == one.knob.text()) {
      SimulatedIteration simulated;
      simulated.setting = "all at " + one.knob.text();
      simulated.option = std::move(one.option);
      return simulated;
    }
    there += fmt::format("{}{}", there.empty() ? "" : ", ", first);
  }
  return Error::invalid_argument(
      fmt::format("--uniform {}: not every instruction was measured there", value),
      there.empty() ? "no setting was measured for all of them" : "all were at " + there);
}

Result<SimulatedIteration> at_plan(const PipelineProblem& problem, const PlanRequest& request) {
  PJ_TRY(const PipelineStudy study, study_pipeline(problem, request));
  const PlannedIteration& planned = study.plans().front();
  SimulatedIteration simulated;
  const Ticks requested = planned.plan.requested;
  simulated.setting = requested == study.shortest()       ? "plan, shortest"
                      : requested == study.least_energy() ? "plan, least energy"
                                                          : "plan";
  for (const Seconds time : request.times) {
    if (problem.ticks(time) < study.shortest()) {
      simulated.setting += fmt::format(" ({} is below it)", to_text(time));
    }
  }
  simulated.option = measured_options(problem, planned.plan);
  simulated.plan = {problem.seconds(requested), planned.bound, planned.gap()};
  return simulated;
}

Result<SimulatedIteration> simulate(const Arguments& arguments, const PipelineProblem& problem) {
  std::vector<std::string_view> chosen;
  for (const std::string_view option : {"highest", "uniform", "time", "slowdown", "least-energy"}) {
    if (arguments.has(option)) chosen.push_back(option);
  }
  if (chosen.size() > 1) {
    return Error::invalid_argument(
        fmt::format("--{} and --{} are both given", chosen[0], chosen[1]),
        "an iteration runs at one of them");
  }
  if (arguments.has("highest")) {
    SimulatedIteration simulated;
    simulated.setting = "all at the highest setting";
    simulated.option = highest_settings(problem);
    return simulated;
  }
  if (arguments.has("uniform")) return at_uniform(problem, arguments.value("uniform"));
  PlanRequest request;
  request.least_energy = arguments.has("least-energy");
  PJ_TRY(const auto time, arguments.read<Seconds>("time", parse_seconds));
  if (time) request.times.push_back(*time);
  if (arguments.has("slowdown")) {
    const auto factor = parse_number(arguments.value("slowdown"));
    if (!factor) {
      return Error::invalid_argument("--slowdown " + arguments.value("slowdown") +
                                     ": not a number");
    }
    request.slowdowns.push_back(*factor);
  }
  if (chosen.empty()) request.slowdowns.push_back(1);
  return at_plan(problem, request);
}

std::string table_of(const std::vector<StageIteration>& stages) {
  Table table({{"STAGE", Table::Align::kRight},
               {"BUSY", Table::Align::kRight},
               {"WAITS", Table::Align::kRight},
               {"ENERGY", Table::Align::kRight},
               {"WORKING", Table::Align::kRight},
               {"WAITING", Table::Align::kRight},
               {"SWITCHES", Table::Align::kRight}});
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const StageIteration& one = stages[s];
    table.add({std::to_string(s), to_text(one.busy), to_text(one.waited), to_text(one.energy()),
               to_text(one.working), to_text(one.waiting), std::to_string(one.switches)});
  }
  return table.text();
}

Result<GanttLook> read_look(const Arguments& arguments, Seconds makespan) {
  GanttLook look;
  const auto width = parse_integer(arguments.value("width"));
  if (!width || *width < 10 || *width > 10'000) {
    return Error::invalid_argument("--width " + arguments.value("width") +
                                   ": not a count of columns from 10 to 10000");
  }
  look.width = static_cast<std::size_t>(*width);
  PJ_TRY(const auto from, arguments.read<Seconds>("from", parse_seconds));
  PJ_TRY(const auto until, arguments.read<Seconds>("until", parse_seconds));
  look.from = from.value_or(Seconds(0));
  look.until = std::min(until.value_or(makespan), makespan);
  if (look.from.value() < 0 || look.from >= look.until) {
    return Error::invalid_argument(
        fmt::format("--from {} --until {}: no time of an iteration of {}", to_text(look.from),
                    to_text(until.value_or(makespan)), to_text(makespan)),
        "the chart shows what lies between them");
  }
  return look;
}

Result<int> run(const Arguments& arguments) {
  PJ_TRY(const PipelineInput input, read_pipeline(arguments));
  const PipelineProblem& problem = *input.problem;
  PJ_TRY(SimulatedIteration simulated, simulate(arguments, problem));
  simulated.iteration = simulate_iteration(problem, simulated.option);
  const Iteration& iteration = simulated.iteration;
  const Seconds time = problem.seconds(iteration.makespan);
  PJ_TRY(const GanttLook look, read_look(arguments, time));
  if (arguments.json()) {
    print(iteration_document(input, simulated));
    return kDone;
  }
  print(input.heading() + "\n");
  print(fmt::format("{}: {}, {}: {} working, {} waiting; {}\n", simulated.setting, to_text(time),
                    to_text(iteration.energy), to_text(iteration.working),
                    to_text(iteration.waiting),
                    counted(static_cast<double>(iteration.switches), "switch")));
  if (simulated.plan) {
    print(fmt::format("asked for {}; {} above the least that any plan can take until then\n",
                      to_text(simulated.plan->requested), percent(simulated.plan->gap, 2)));
  }
  print("\n" + table_of(iteration.stages));
  print("\n" + gantt(problem, simulated.option, iteration, look));
  print("\nReconstructed from the profile; energy of all stages until the last has ended.\n");
  return kDone;
}

}  // namespace

Verb pipeline_simulate_verb() {
  Verb verb;
  verb.name = "pipeline simulate";
  verb.summary = "simulate one iteration of a pipeline, stage by stage, with a chart of it";
  verb.description =
      "Runs one iteration as the profile has it: at a plan (by default that of the shortest time), "
      "with all instructions\nat one setting, or all at the highest. Says what each stage takes "
      "and waits, and draws when each instruction\nruns, how much slack it has and where the "
      "setting changes. docs/pipeline-schedules.md has the schedules.";
  verb.positionals = {{"PROFILE", "CSV table of measured settings"}};
  verb.options = pipeline_options();
  const std::vector<Option> own = {
      {"time", "TIME", "the plan for this iteration time"},
      {"slowdown", "FACTOR", "the plan for this multiple of the shortest time"},
      {"least-energy", "", "the plan of least energy of all"},
      {"uniform", "VALUE", "all instructions at this setting of the first knob"},
      {"highest", "", "all instructions at the highest setting"},
      {"width", "COUNT", "columns of the chart", "100"},
      {"from", "TIME", "where the chart begins", "0s"},
      {"until", "TIME", "and where it ends: the iteration's end, if not given"},
  };
  verb.options.insert(verb.options.end(), own.begin(), own.end());
  verb.examples = {
      "perjoule pipeline simulate profile.csv --microbatches 12 --blocking-power 84W",
      "perjoule pipeline simulate profile.csv --schedule zb-h1 --microbatches 12 --blocking-power "
      "84W --slowdown 1.1",
  };
  verb.run = run;
  return verb;
}

}  // namespace perjoule::cli
