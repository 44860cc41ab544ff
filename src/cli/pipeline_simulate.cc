// perjoule pipeline simulate: one iteration at a plan, at one setting or at the highest, stage by
// stage.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/gantt.h"
#include "cli/pipeline_iteration_file.h"
#include "cli/pipeline_notes.h"
#include "cli/pipeline_options.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "pipeline/plan/baselines.h"
#include "pipeline/plan/energy_error.h"
#include "pipeline/plan/planner.h"

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

/// --samples and --seed; none where there is nothing to sample.
Result<std::optional<SamplingRequest>> read_sampling(const Arguments& arguments) {
  if (!arguments.has("samples")) {
    if (!arguments.typed("seed")) return std::optional<SamplingRequest>();
    return Error::invalid_argument("--seed is given without --samples",
                                   "say how often to draw: --samples 1000");
  }
  SamplingRequest request;
  PJ_TRY(request.samples, read_size(arguments, "samples"));
  const auto seed = parse_integer(arguments.value("seed"));
  if (!seed || *seed < 0) {
    return Error::invalid_argument("--seed " + arguments.value("seed") +
                                   ": not a whole number from 0 up");
  }
  request.seed = static_cast<std::uint64_t>(*seed);
  return std::optional<SamplingRequest>(request);
}

std::string text_of(const PipelineProblem& problem, const SimulatedIteration::Samples& samples) {
  const auto row = [](std::string name, const Distribution& one, auto unit) {
    const auto text = [unit](double value) { return to_text(unit(value)); };
    return std::vector<std::string>{std::move(name), text(one.mean), text(one.p5), text(one.p50),
                                    text(one.p95)};
  };
  Table table({{""},
               {"MEAN", Table::Align::kRight},
               {"5 %", Table::Align::kRight},
               {"MEDIAN", Table::Align::kRight},
               {"95 %", Table::Align::kRight}});
  table.add(row("time", samples.spread.time, [](double value) { return Seconds(value); }));
  table.add(row("energy", samples.spread.energy, [](double value) { return Joules(value); }));
  return fmt::format(
      "{} with the times of {} drawn anew (seed {}): simulated.\n{}{} of them take longer than "
      "{}.\n",
      counted(samples.request.samples, "iteration"),
      counted(static_cast<double>(samples.spread.varying), "instruction"), samples.request.seed,
      table.text(), percent(samples.spread.late_share),
      to_text(problem.seconds(samples.request.deadline)));
}

Result<int> run(const Arguments& arguments) {
  PJ_TRY(std::optional<SamplingRequest> sampling, read_sampling(arguments));
  PJ_TRY(const PipelineInput input, read_pipeline(arguments));
  const PipelineProblem& problem = *input.problem;
  PJ_TRY(SimulatedIteration simulated, simulate(arguments, problem));
  simulated.iteration = simulate_iteration(problem, simulated.option);
  if (sampling) {
    sampling->deadline =
        simulated.plan ? problem.ticks(simulated.plan->requested) : simulated.iteration.makespan;
    PJ_TRY(const IterationSpread spread, sample_iterations(problem, simulated.option, *sampling));
    simulated.samples = {*sampling, spread};
  }
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
  if (simulated.samples) print("\n" + text_of(problem, *simulated.samples));
  print("\n" + gantt(problem, simulated.option, iteration, look));
  print("\nReconstructed from the profile; energy of all stages until the last has ended.\n");
  print(how_well_known({{iteration.energy, energy_error(problem, simulated.option)}}));
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
      "setting changes; with --samples also how time and energy vary where instructions do. "
      "docs/pipeline-schedules.md\nhas the schedules.";
  verb.positionals = {{"PROFILE", "CSV table of measured settings"}};
  verb.options = pipeline_options();
  const std::vector<Option> own = {
      {"time", "TIME", "the plan for this iteration time"},
      {"slowdown", "FACTOR", "the plan for this multiple of the shortest time"},
      {"least-energy", "", "the plan of least energy of all"},
      {"uniform", "VALUE", "all instructions at this setting of the first knob"},
      {"highest", "", "all instructions at the highest setting"},
      {"samples", "COUNT",
       "simulate it so often with times drawn anew, by the spread that the profile has"},
      {"seed", "NUMBER", "of what is drawn: the same gives the same figures", "1"},
      {"width", "COUNT", "columns of the chart", "100"},
      {"from", "TIME", "where the chart begins", "0s"},
      {"until", "TIME", "and where it ends: the iteration's end, if not given"},
  };
  verb.options.insert(verb.options.end(), own.begin(), own.end());
  verb.examples = {
      "perjoule pipeline simulate profile.csv --microbatches 12 --blocking-power 84W",
      "perjoule pipeline simulate profile.csv --schedule zb-h1 --microbatches 12 --blocking-power "
      "84W --slowdown 1.1",
      "perjoule pipeline simulate profile.csv --microbatches 12 --blocking-power 84W --samples "
      "1000 --seed 1",
  };
  verb.run = run;
  return verb;
}

}  // namespace perjoule::cli
