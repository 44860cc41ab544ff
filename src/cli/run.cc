// perjoule run: measure a program, a running process, or a span of time.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/energy_text.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/command_status.h"
#include "cli/machine.h"
#include "cli/measure_options.h"
#include "cli/run_report.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "device/cpu_facts.h"
#include "device/selection.h"
#include "meter/command_run.h"
#include "store/sqlite_store.h"

namespace perjoule::cli {
namespace {

/// As timeout(1) has it.
constexpr int kBudgetReached = 124;
/// A baseline taken on a machine busier than this is said not to be idle power.
constexpr double kBusyBaseline = 0.2;
constexpr std::size_t kTimelineBytes = 8U << 20U;

Result<CommandOptions> read_options(const Arguments& arguments) {
  CommandOptions options;
  options.spawn.arguments = arguments.command();
  // A document among other output would be no document.
  options.spawn.output_to_error = arguments.json() && !arguments.has("output");
  PJ_TRY(options.every, read_period(arguments));
  PJ_TRY(options.duration, arguments.read<Seconds>("for", parse_seconds));
  if (options.duration && options.duration->value() <= 0)
    return Error::invalid_argument("--for " + arguments.value("for") + ": not above 0");
  PJ_TRY(options.budget, arguments.read<Joules>("budget", parse_joules));
  if (options.budget && options.budget->value() <= 0) {
    return Error::invalid_argument("--budget " + arguments.value("budget") + ": not above 0");
  }
  if (arguments.has("pid")) {
    const auto pid = parse_integer(arguments.value("pid"));
    if (!pid || *pid <= 0)
      return Error::invalid_argument("--pid " + arguments.value("pid") + ": not a process number");
    options.pid = *pid;
  }
  if (options.pid && !options.spawn.arguments.empty()) {
    return Error::invalid_argument("--pid and a command cannot go together");
  }
  options.tick_aligned = arguments.has("align");
  options.count_units = arguments.has("unit");
  options.unit = arguments.value("unit");
  if (arguments.has("unit-pattern")) options.unit_pattern = arguments.value("unit-pattern");
  if (arguments.has("predict") && !arguments.has("epochs")) {
    return Error::invalid_argument("--predict needs --epochs",
                                   "say how many units the whole job has: --epochs 90");
  }
  if (arguments.has("epochs")) {
    options.total_units = parse_number(arguments.value("epochs"));
    if (!options.total_units || *options.total_units <= 0) {
      return Error::invalid_argument("--epochs " + arguments.value("epochs") +
                                     ": not a count above 0");
    }
  }
  return options;
}

/// One line on the terminal's last row, rewritten in place.
void show_live(const RunProgress& progress, const std::string& unit) {
  std::string line = fmt::format("{}  {}  {}", to_text(progress.elapsed, 3),
                                 to_text(progress.power, 3), to_text(progress.energy.joules, 4));
  if (progress.units > 0) line += "  " + counted(progress.units, unit);
  if (progress.whole) {
    line += fmt::format("  whole: {}, {}",
                        with_uncertainty(predicted_energy(*progress.whole, progress.energy)),
                        to_text(progress.whole->time, 3));
  }
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
}

void say_prediction(const RunProgress& progress, const std::string& unit, double total) {
  const Energy whole = predicted_energy(*progress.whole, progress.energy);
  complain(fmt::format("after {}: {} will take {} ({}) and {} +- {}", counted(progress.units, unit),
                       counted(total, unit), with_uncertainty(whole), whole.status_text(),
                       to_text(progress.whole->time, 3),
                       to_text(progress.whole->time_half_width, 2)));
}

/// Idle power before the run: the same sources for a while with nothing of ours running. A signal
/// ends it, and then everything: result.signal says which.
Result<CommandResult> measure_baseline(const std::vector<Source*>& sources, const Clock& clock,
                                       const std::vector<Calibration>& calibrations,
                                       Seconds duration) {
  Meter meter(sources, clock, 1U << 20U, calibrations);
  CommandOptions options;
  options.duration = duration;
  PJ_TRY(CommandResult result, run_command(meter, options));
  const double processors = read_cpu_facts(Roots::from_environment()).logical_processors;
  const double busy =
      result.cpu_of_machine.value_or(Seconds(0)) / (result.measurement.duration * processors);
  if (busy > kBusyBaseline) {
    complain(
        fmt::format("the machine was not idle during the baseline: its processors were {} busy",
                    percent(busy, 0)));
  }
  return result;
}

/// A store that cannot be written is no reason to lose the figures: they are printed all the same.
void keep(const RunReport& report) {
  auto store = SqliteStore::open(default_store_path(), StoreAccess::kWrite);
  const auto id = store ? (*store)->save_run(run_record(report)) : Result<std::string>(fail(store));
  complain(id ? "kept as run " + *id : "run not kept: " + id.error().text());
}

/// A day's measurement must not end at a folder that is not there. What cannot be written is our
/// failure whatever the reason, told from the command's own statuses.
Outcome check_outputs(const Arguments& arguments) {
  for (const char* option : {"output", "csv"}) {
    if (!arguments.has(option)) continue;
    const auto can = check_writable(arguments.value(option));
    if (can) continue;
    Error error = can.error();
    if (error.code == ErrorCode::kInvalidArgument) error.code = ErrorCode::kUnavailable;
    error.message = "--" + std::string(option) + ": " + error.message;
    return tl::unexpected<Error>(std::move(error));
  }
  return {};
}

/// The sources of --sources. A word that names no device is a wrong word, here as in every verb.
Result<ChosenSources> choose(const Arguments& arguments, const Inventory& machine) {
  if (machine.sources().empty()) {
    return Error::unavailable("nothing here can be measured or estimated",
                              "perjoule doctor says why");
  }
  PJ_TRY(const std::vector<std::string> words, arguments.list("sources"));
  auto chosen = choose_sources(machine, words, VisibleVariables::from_environment());
  if (!chosen && chosen.error().code == ErrorCode::kNotFound)
    chosen.error().code = ErrorCode::kInvalidArgument;
  return chosen;
}

/// An estimate in place of counters that are there and closed is not taken silently.
void say_denied(const Inventory& machine, const ChosenSources& chosen) {
  const bool estimated =
      std::any_of(chosen.sources.begin(), chosen.sources.end(),
                  [](const Source* source) { return source->info().status == Status::kEstimated; });
  if (!estimated) return;
  for (const Problem& problem : machine.problems) {
    if (problem.error.code != ErrorCode::kPermissionDenied || problem.subject.rfind("cpu:", 0) != 0)
      continue;
    complain(
        "the processors' counters are there but closed to this user, and their energy is "
        "estimated instead: " +
        problem.error.text());
    return;
  }
}

Result<int> run(const Arguments& arguments) {
  PJ_TRY(CommandOptions options, read_options(arguments));
  PJ_CHECK(check_outputs(arguments));
  const RealClock clock;
  PJ_TRY(const Inventory machine, find_machine(clock));
  PJ_TRY(const ChosenSources chosen, choose(arguments, machine));
  for (const std::string& note : chosen.notes) complain(note);
  say_denied(machine, chosen);
  RunReport report;
  report.unit = arguments.value("unit");
  report.project = arguments.value("project");
  report.tags = arguments.values("tag");
  report.command = arguments.command();
  report.every = options.every;
  report.expected_units = options.total_units;
  for (const Source* source : chosen.sources) {
    Device* device = machine.find_device(source->info().device);
    const bool gpu = device != nullptr && device->info().kind == DeviceKind::kGpu;
    if (!gpu || !source->info().overlaps.empty()) continue;
    report.gpu_names.push_back(device->info().name);
    options.shared_gpus.push_back(device);
  }
  PJ_TRY(const std::vector<Calibration> calibrations, load_calibrations(calibration_path()));
  if (arguments.has("peak")) {
    report.peak = parse_number(arguments.value("peak"));
    if (!report.peak || !(*report.peak > 0)) {
      return Error::invalid_argument("--peak " + arguments.value("peak") + ": not a rate above 0",
                                     "write FLOP/s, e.g. 989e12");
    }
  }
  if (arguments.has("baseline")) {
    PJ_TRY(const auto span, arguments.read<Seconds>("baseline", parse_seconds));
    if (span->value() < 0.1) {
      return Error::invalid_argument("--baseline " + arguments.value("baseline") + ": below 0.1 s");
    }
    complain("measuring idle power for " + to_text(*span, 3));
    PJ_TRY(CommandResult idle, measure_baseline(chosen.sources, clock, calibrations, *span));
    if (idle.signal != 0) return 128 + idle.signal;
    report.baseline = std::move(idle.measurement);
  }
  Meter meter(chosen.sources, clock, kTimelineBytes, calibrations);
  bool predicted = false;
  const bool live = error_is_terminal() && !arguments.has("quiet");
  if (live || options.total_units) {
    options.progress = [&](const RunProgress& progress) {
      if (live) show_live(progress, report.unit);
      if (!live && progress.whole && !predicted) {
        say_prediction(progress, report.unit, *options.total_units);
        predicted = true;
      }
    };
  }
  PJ_TRY(report.result, run_command(meter, options));
  if (live) std::fprintf(stderr, "\r\033[K");
  if (!arguments.has("no-store")) keep(report);
  PJ_CHECK(deliver(report, arguments));
  if (report.result.budget_reached) return kBudgetReached;
  return report.result.end.status;
}

}  // namespace

Verb run_verb() {
  Verb verb;
  verb.name = "run";
  verb.summary = "measure a program, a running process or a span of time";
  verb.description =
      "Runs the command and says what it took, by source, with uncertainty, status and grade. The "
      "exit status is "
      "the command's own (128 + signal), 125 when measuring failed or a file asked for cannot be "
      "written (tried before the command starts) or standard output takes no more, 124 when the "
      "budget was reached, 126 and 127 when the command cannot be run or found, 2 for words that "
      "make no sense. With --json and no --output the command's standard output goes to standard "
      "error, so that standard output is one JSON document. --for and --budget end the command "
      "and everything below it, those in sessions of their own too: SIGTERM, and SIGKILL two "
      "seconds later. The budget is looked at once a sampling period (--every): at most a period's "
      "energy comes on top, and what the sources' ticks do not show yet.";
  verb.options = {
      {"every", "TIME", "sampling period; a source is never read faster than it ticks", "100ms"},
      {"sources", "WORD,...",
       "only these: gpu, cpu, all, ids, UUIDs or beginnings of them, PCI ids, GPU numbers, sources",
       "", true},
      {"align", "",
       "wait for the counters to tick before the command and after it: the edge's error falls from "
       "a tick's energy to about a hundredth of it, for up to two ticks of waiting at either end"},
      {"pid", "PID", "watch a running process instead of starting one"},
      {"for", "TIME", "stop after this long; ends the command and all below it"},
      {"baseline", "TIME",
       "measure idle power this long first and tell static from dynamic energy"},
      {"unit", "NAME",
       "count units of work: lines the command writes to the descriptor PERJOULE_UNIT_FD, each one "
       "unit or the number in it; the command finds NAME in PERJOULE_UNIT. With flop each line "
       "must "
       "hold its number"},
      {"unit-pattern", "REGEX",
       "count units in the output instead: a match each, or its group is the count so far"},
      {"peak", "FLOP/S", "with --unit flop: the rate to hold the measured one against"},
      {"epochs", "N", "units in the whole job: predict its time and energy after the first"},
      {"predict", "",
       "with --epochs: say the prediction once the first unit is done (the default)"},
      {"budget", "ENERGY", "end the command and all below it when the total reaches this"},
      {"output", "FILE", "write the JSON document there and keep standard output for the command"},
      {"csv", "FILE", "write the course of power of every source"},
      {"project", "NAME", "kept with the run"},
      {"tag", "WORD", "kept with the run, e.g. search or final", "", true},
      {"no-store", "", "do not keep the run"},
      {"quiet", "", "no live line"},
  };
  verb.takes_command = true;
  verb.instead_of_command = {"pid", "for"};
  verb.own_failure = kOwnFailure;
  verb.examples = {
      "perjoule run -- python3 train.py", "perjoule run --unit step --baseline 5s -- ./train",
      "perjoule run --unit-pattern 'epoch (\\d+)' --unit epoch --epochs 90 -- python3 train.py",
      "perjoule run --pid 4711 --for 60s --json"};
  verb.run = [](const Arguments& arguments) { return with_command_status("run", arguments, run); };
  return verb;
}

}  // namespace perjoule::cli
