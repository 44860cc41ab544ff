// perjoule sweep: one command under many settings, the frontier they span, and the point to run at.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/energy_text.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/frontier_view.h"
#include "cli/machine.h"
#include "cli/measure_options.h"
#include "cli/rule_options.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "device/selection.h"
#include "frontier/points_format.h"
#include "meter/sweep.h"

namespace perjoule::cli {
namespace {

Result<SweepAxis> knob_axis(const std::string& name, const std::string& unit,
                            const std::string& range) {
  PJ_TRY(const std::vector<double> values, parse_range(range));
  SweepAxis axis{SweepAxis::Kind::kKnob, name, {}};
  for (const double value : values) axis.values.push_back(fmt::format("{} {}", value, unit));
  return axis;
}

/// "batch=8,16,32" or "batch=8:32:8".
Result<SweepAxis> parameter_axis(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return Error::invalid_argument("--param " + text + ": not NAME=VALUES",
                                   "write --param batch=8,16,32");
  }
  SweepAxis axis{SweepAxis::Kind::kParameter, text.substr(0, equals), {}};
  const std::string_view values = std::string_view(text).substr(equals + 1);
  const bool is_range =
      values.find(':') != std::string_view::npos && values.find(',') == std::string_view::npos;
  if (is_range) {
    if (const auto range = parse_range(values)) {
      for (const double value : *range) axis.values.push_back(fmt::format("{}", value));
      return axis;
    }
  }
  for (const std::string_view value : split(values, ',')) {
    axis.values.emplace_back(trim(value));
    if (axis.values.back().empty())
      return Error::invalid_argument("--param " + text + ": an empty value");
  }
  return axis;
}

/// An option that turns a knob; one without a unit takes words.
struct KnobOption {
  const char* option;
  const char* knob;
  const char* unit;
};
constexpr KnobOption kKnobOptions[] = {{"power-limit", "power limit", "W"},
                                       {"clock", "clock", "MHz"},
                                       {"memory-clock", "memory clock", "MHz"},
                                       {"processor-clock", "processor clock", "MHz"},
                                       {"profile", "power profile", ""},
                                       {"governor", "governor", ""},
                                       {"energy-preference", "energy preference", ""}};

Result<std::vector<SweepAxis>> axes_from(const Arguments& arguments) {
  std::vector<SweepAxis> axes;
  for (const KnobOption& known : kKnobOptions) {
    if (!arguments.has(known.option)) continue;
    if (*known.unit == '\0') {
      PJ_TRY(std::vector<std::string> words, arguments.list(known.option));
      axes.push_back({SweepAxis::Kind::kKnob, known.knob, std::move(words)});
      continue;
    }
    auto axis = knob_axis(known.knob, known.unit, arguments.value(known.option));
    if (!axis) return fail(axis, std::string("--") + known.option);
    axes.push_back(std::move(*axis));
  }
  if (arguments.has("processors")) {
    PJ_TRY(const std::vector<double> counts, parse_range(arguments.value("processors")));
    SweepAxis axis{SweepAxis::Kind::kProcessors, "processors", {}};
    for (const double count : counts) {
      if (count != std::floor(count))
        return Error::invalid_argument(fmt::format("--processors: not a whole number: {}", count));
      axis.values.push_back(fmt::format("{:.0f}", count));
    }
    axes.push_back(std::move(axis));
  }
  for (const std::string& text : arguments.values("param")) {
    PJ_TRY(SweepAxis axis, parameter_axis(text));
    for (const SweepAxis& other : axes) {
      if (other.name == axis.name)
        return Error::invalid_argument("--param " + axis.name + " is given twice",
                                       "write all its values at once: a=1,2");
    }
    axes.push_back(std::move(axis));
  }
  if (axes.empty()) {
    return Error::invalid_argument(
        "nothing to sweep",
        "give --power-limit, --clock, --governor or another knob, --processors or --param");
  }
  return axes;
}

Result<SweepOptions> options_from(const Arguments& arguments) {
  SweepOptions options;
  PJ_TRY(options.axes, axes_from(arguments));
  options.command.spawn.arguments = arguments.command();
  options.command.spawn.silence_output =
      !arguments.has("unit-pattern") && !arguments.has("show-output");
  options.command.spawn.output_to_error = arguments.json();
  options.command.tick_aligned = arguments.has("align");
  options.command.count_units = arguments.has("unit");
  options.command.unit = arguments.value("unit");
  if (arguments.has("unit-pattern")) options.command.unit_pattern = arguments.value("unit-pattern");
  PJ_TRY(options.command.every, read_period(arguments));
  const auto repeats = parse_integer(arguments.value("repeat"));
  if (!repeats || *repeats < 1 || *repeats > 10'000) {
    return Error::invalid_argument("--repeat " + arguments.value("repeat") +
                                   ": not a count from 1 to 10000");
  }
  options.repeats = static_cast<int>(*repeats);
  const std::string order = arguments.value("order");
  if (order != "given" && order != "random") {
    return Error::invalid_argument("--order " + order + ": not an order", "write given or random");
  }
  options.random_order = order == "random";
  PJ_TRY(const auto warm_up, arguments.read<Seconds>("warm-up", parse_seconds));
  PJ_TRY(const auto cool_down, arguments.read<Seconds>("cool-down", parse_seconds));
  for (const auto& [option, time] : {std::pair("warm-up", *warm_up), {"cool-down", *cool_down}}) {
    if (time.value() < 0 || time.value() > 86'400)
      return Error::invalid_argument(
          fmt::format("--{} {}: outside 0 to 24 h", option, arguments.value(option)));
  }
  options.warm_up = *warm_up;
  options.cool_down = *cool_down;
  return options;
}

/// What is measured and whose knobs are turned: --sources and --devices, else what the job may see.
Outcome choose(const Arguments& arguments, const Inventory& machine, SweepOptions& options) {
  const VisibleVariables variables = VisibleVariables::from_environment();
  PJ_TRY(const std::vector<std::string> sources, arguments.list("sources"));
  PJ_TRY(const ChosenSources chosen, choose_sources(machine, sources, variables));
  for (const std::string& note : chosen.notes) complain(note);
  options.command.sources = chosen.ids;
  std::vector<DeviceInfo> infos;
  for (const auto& device : machine.devices) infos.push_back(device->info());
  const VisibleDevices visible = visible_devices(infos, variables);
  PJ_TRY(const std::vector<std::string> words, arguments.list("devices"));
  if (!words.empty()) {
    PJ_TRY(const Selection selection, select_devices(infos, words, visible));
    for (const std::string& note : selection.notes) complain(note);
    options.devices = selection.devices;
  } else if (!visible.hidden.empty()) {
    // Somebody else's GPU is never turned. A power limit, which GPUs and CPUs have, is the CPUs'
    // only where no GPU is left; every other knob is of one kind.
    const bool limit = arguments.has("power-limit");
    const auto gpu = select_devices(infos, {"gpu"}, visible);
    options.devices = gpu && limit ? gpu->devices : visible.ids;
  }
  return {};
}

void show(const SweepProgress& progress) {
  const SweepTrial& trial = progress.last;
  std::string line = fmt::format("{}/{}  {}: ", progress.done, progress.total, trial.config.text());
  if (trial.exit_status != 0) {
    line += fmt::format("the command failed with status {}; left out", trial.exit_status);
  } else if (trial.energy.status == Status::kMissing) {
    line += "no energy";
  } else {
    line += fmt::format("{}, {}", to_text(trial.time, 4), with_uncertainty(trial.energy));
  }
  for (const std::string& note : trial.notes) line += "; " + note;
  complain(line);
}

/// What a sweep that was ended before its time says.
std::string interruption(const SweepResult& result) {
  const std::string knobs = result.restored ? "every knob is back" : "see above for the knobs";
  const bool any = std::any_of(result.trials.begin(), result.trials.end(),
                               [](const SweepTrial& trial) { return trial.exit_status == 0; });
  return (any ? "interrupted: the points so far are shown, and "
              : "interrupted before anything was measured: ") +
         knobs;
}

/// The points as CSV, or as JSON where the name says so.
Outcome write_points(const std::string& path, const PointsFile& file) {
  const bool json = path.size() > 5 && path.ends_with(".json");
  return write_file_atomically(path, json ? points_json(file).dump(2) + "\n" : points_csv(file));
}

Result<int> run_sweep(const Arguments& arguments) {
  PJ_TRY(SweepOptions options, options_from(arguments));
  PJ_TRY(const Rule rule, rule_from(arguments));
  // Hours of measuring must not end at a folder that is not there.
  if (arguments.has("output")) PJ_CHECK(check_writable(arguments.value("output")));
  const RealClock clock;
  PJ_TRY(const Inventory machine, find_machine(clock));
  PJ_CHECK(choose(arguments, machine, options));
  PJ_TRY(KnobJournal journal, KnobJournal::open(journal_folder(), machine));
  PJ_TRY(options.calibrations, load_calibrations(calibration_path()));
  PJ_TRY(const SweepResult result, sweep(machine, clock, journal, options, show));
  if (!result.failed) complain(result.failed.error().text());
  if (!result.restored) complain("a knob stays turned: " + result.restored.error().text());

  const bool counted_matches = arguments.has("unit-pattern") && !arguments.has("unit");
  PointsFile file{counted_matches ? "unit" : arguments.value("unit"), points_of(result)};
  const bool failed_silently =
      options.command.spawn.silence_output &&
      std::any_of(result.trials.begin(), result.trials.end(), [&](const SweepTrial& trial) {
        return trial.exit_status != 0 && result.signal == 0;
      });
  if (failed_silently) complain("a command failed: --show-output lets what it wrote through");
  if (result.signal != 0) complain(interruption(result));
  if (!result.failed && !file.points.empty())
    complain("the sweep ended before its time: the points so far are shown");
  if (file.points.empty()) {
    if (!result.restored) return kMachineCannot;
    if (result.signal != 0) return kSignalled + result.signal;
    return Error::unavailable("no setting could be measured",
                              "see the lines above for each one's reason");
  }
  PJ_TRY(const Frontier frontier, Frontier::make(file.points));
  PJ_TRY(const Choice choice, frontier.choose(rule));
  FrontierView view{frontier, choice};
  view.unit = file.unit;
  view.all = true;
  view.plot = arguments.has("plot") || (output_is_terminal() && !arguments.json());
  if (arguments.json()) {
    Json document = Json::object();
    document["schema"] = "perjoule.sweep.v1";
    document["interrupted"] = result.signal != 0 || !result.failed;
    document["restored"] = result.restored.has_value();
    document["points"] = points_json(file);
    document["choice"] = frontier_json(view);
    print(document.dump(2) + "\n");
  } else {
    print(frontier_text(view));
  }
  // Printed first: a disk that is full by now must not take the answer with it.
  if (arguments.has("output")) PJ_CHECK(write_points(arguments.value("output"), file));
  // Hardware that is left turned outweighs everything else.
  if (!result.restored || !result.failed) return kMachineCannot;
  if (result.signal != 0) return kSignalled + result.signal;
  return choice.miss ? kAnswerIsNo : kDone;
}

}  // namespace

Verb sweep_verb() {
  Verb verb;
  verb.name = "sweep";
  verb.summary = "measure a command under many settings and choose one";
  verb.description =
      "Runs the command once for every combination of the axes and repeat, turning knobs through a "
      "journal that "
      "puts them back on any exit. {name} in the command is replaced by the parameter's value, "
      "which is also set as "
      "the variable of that name. Ctrl-C ends the present run, shows what there is and puts the "
      "knobs back; the exit status is then 130 (128 + signal). Where a setting cannot be made, "
      "what "
      "was measured before is shown and written, and the exit status is 3, as it is where a knob "
      "could not be put back.";
  verb.options = {
      {"power-limit", "W:W:STEP", "power limits of the GPUs (of the CPUs where there is no GPU)"},
      {"clock", "MHZ:MHZ:STEP", "locked graphics clocks"},
      {"memory-clock", "MHZ,...", "locked memory clocks"},
      {"profile", "WORD,...",
       "workload power profiles (NVIDIA, Blackwell): none, max-q, llm-inference; joined by +"},
      {"processor-clock", "MHZ:MHZ:STEP", "highest clocks of the CPUs (cpufreq)"},
      {"governor", "WORD,...", "governors of the CPUs' clocks: performance, powersave, ..."},
      {"energy-preference", "WORD,...",
       "what the CPUs' own clock control prefers: performance, balance_power, power, ..."},
      {"processors", "N:N:STEP", "processors the command may use"},
      {"param", "NAME=V,...", "any word of the command or variable of its environment", "", true},
      {"devices", "WORD,...", "turn only these devices' knobs (words as for --sources)", "", true},
      {"sources", "WORD,...",
       "measure only these: gpu, cpu, all, ids, UUIDs or beginnings of them, PCI ids, GPU numbers",
       "", true},
      {"repeat", "N", "runs of each setting", "1"},
      {"order", "ORDER", "given, or random against drift", "given"},
      {"warm-up", "TIME", "beginning of each run that does not count (with --unit)", "0s"},
      {"cool-down", "TIME", "pause between runs", "0s"},
      {"every", "TIME", "sampling period", "50ms"},
      {"align", "",
       "align both ends of each run to the counters' ticks (see run); for short runs. Where units "
       "are counted and a warm-up is left out, the steady part's own ends lie at samples"},
      {"unit", "NAME", "count units of work and give time and energy per unit"},
      {"unit-pattern", "REGEX", "count units in the output"},
      {"show-output", "", "let the command's output through; with --json to standard error"},
      {"plot", "", "draw a scatter plot, as on a terminal"},
      {"output", "FILE", "write the points (.csv or .json), for perjoule frontier"},
  };
  for (Option& option : rule_options()) verb.options.push_back(std::move(option));
  verb.takes_command = true;
  verb.examples = {
      "perjoule sweep --power-limit 200:700:100 --unit step -- python3 train.py",
      "perjoule sweep --param batch=8,16,32 --repeat 3 --order random --unit step -- ./train "
      "--batch {batch}",
      "perjoule sweep --param OMP_NUM_THREADS=1,2,4 --slowdown 10% --output points.csv -- ./solve",
  };
  verb.run = run_sweep;
  return verb;
}

}  // namespace perjoule::cli
