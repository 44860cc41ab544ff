// perjoule train power-limit: find the power limit of a training while it goes on.
#include <fmt/format.h>

#include <algorithm>

#include "base/energy_text.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/command_status.h"
#include "cli/epoch_pipe.h"
#include "cli/machine.h"
#include "cli/measure_options.h"
#include "cli/power_limit_report.h"
#include "cli/rule_options.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "device/selection.h"
#include "meter/calibration.h"
#include "meter/command_run.h"
#include "meter/power_course.h"
#include "train/activity_tuner.h"
#include "train/limit_recording.h"
#include "train/power_limit_tuner.h"

namespace perjoule::cli {
namespace {

constexpr std::size_t kTimelineBytes = 8U << 20U;

Result<double> steps_option(const Arguments& arguments, std::string_view option) {
  const auto number = parse_number(arguments.value(option));
  if (number && *number >= 0) return *number;
  return Error::invalid_argument(
      fmt::format("--{} {}: not a number of steps", option, arguments.value(option)));
}

Result<Rule> read_rule(const Arguments& arguments) {
  PJ_TRY(Rule rule, rule_from(arguments));
  const bool any = !std::holds_alternative<Knee>(rule) || arguments.has("knee");
  return any ? rule : EtaCost{};
}

Result<PowerLimitPlan> read_plan(const Arguments& arguments) {
  PowerLimitPlan plan;
  PJ_TRY(plan.rule, read_rule(arguments));
  plan.per_gpu = arguments.has("per-gpu");
  PJ_TRY(plan.warm_up_steps, steps_option(arguments, "warm-up"));
  PJ_TRY(plan.profile_steps, steps_option(arguments, "profile"));
  PJ_TRY(const auto least, arguments.read<Seconds>("least", parse_seconds));
  if (least->value() < 0 || least->value() > 86'400)
    return Error::invalid_argument("--least " + arguments.value("least") + ": outside 0 to 24 h");
  plan.least_time = *least;
  PJ_TRY(const double drift, [&]() -> Result<double> {
    const auto number = parse_number(arguments.value("drift"));
    if (number && *number >= 0) return *number;
    return Error::invalid_argument("--drift " + arguments.value("drift") +
                                   ": not a share of 0 or more");
  }());
  plan.drift = drift;
  PJ_TRY(plan.stall, [&]() -> Result<double> {
    const auto number = parse_number(arguments.value("stall"));
    if (number && (*number == 0 || *number > 1)) return *number;
    return Error::invalid_argument("--stall " + arguments.value("stall") +
                                   ": neither a factor above 1 nor 0");
  }());
  if (arguments.has("limits")) {
    PJ_TRY(std::vector<double> limits, parse_range(arguments.value("limits")));
    std::sort(limits.begin(), limits.end(), std::greater<>());
    for (const double limit : limits) plan.limits.emplace_back(limit);
  }
  return plan;
}

/// How often the power is looked into for its rhythm, at most.
constexpr Seconds kListenEvery{0.25};

Result<bool> by_activity(const Arguments& arguments) {
  const std::string& way = arguments.value("steps");
  if (way == "reported") return false;
  if (way != "activity")
    return Error::invalid_argument("--steps " + way + ": there are reported and activity");
  if (arguments.has("unit-pattern")) {
    return Error::invalid_argument("--steps activity counts no output: leave out --unit-pattern");
  }
  if (arguments.has("per-gpu")) {
    return Error::invalid_argument(
        "--per-gpu wants steps that are counted: whether one GPU holds up the others by a "
        "hundredth "
        "is less than a rhythm can tell",
        "leave out --steps activity");
  }
  return true;
}

Result<CommandOptions> read_command(const Arguments& arguments) {
  CommandOptions options;
  options.spawn.arguments = arguments.command();
  options.spawn.output_to_error = arguments.json();
  PJ_TRY(options.every, read_period(arguments));
  PJ_TRY(const bool activity, by_activity(arguments));
  if (activity) {
    options.pace = SamplePace::kSeesTicks;
    options.progress_every = kListenEvery;
    return options;
  }
  options.count_units = true;
  options.unit = "step";
  if (arguments.has("unit-pattern")) options.unit_pattern = arguments.value("unit-pattern");
  options.progress_at_units = true;
  return options;
}

/// The job's GPUs: those of --gpu, else those it may see.
Result<ChosenSources> job_gpus(const Arguments& arguments, const Inventory& machine) {
  PJ_TRY(std::vector<std::string> words, arguments.list("gpu"));
  if (words.empty()) words = {"gpu"};
  auto chosen = choose_sources(machine, words, VisibleVariables::from_environment());
  if (!chosen && chosen.error().code == ErrorCode::kNotFound)
    chosen.error().code = ErrorCode::kInvalidArgument;
  return chosen;
}

void tell_progress(const PowerLimitTuner& tuner, std::string_view unit, std::size_t& told) {
  const PowerLimitOptimizer& optimizer = tuner.optimizer();
  if (told > optimizer.points().size()) told = 0;
  for (; told < optimizer.points().size(); ++told) {
    const Point& point = optimizer.points()[told];
    complain(fmt::format("{}: {} and {} a {}", point.config.text(), to_text(point.time, 4),
                         with_uncertainty(point.energy), unit));
  }
}

/// What both ways of counting need.
struct Job {
  Meter& meter;
  CommandOptions options;
  PowerLimitTuner tuner;
};

void take(const PowerLimitTuner& tuner, PowerLimitAnswer& answer) {
  answer.points = tuner.optimizer().points();
  answer.choice = tuner.optimizer().choice();
  answer.repeats = tuner.optimizer().repeats();
  answer.rule = tuner.optimizer().rule();
  answer.max_power = tuner.max_power();
  answer.failure = tuner.failure();
  answer.stalls = tuner.optimizer().stalls();
  answer.notes = tuner.notes();
  const GpuLimits& limits = tuner.optimizer().limits();
  const std::vector<std::string> devices = tuner.devices();
  if (!answer.choice || answer.failure || limits.size() != devices.size()) return;
  for (std::size_t i = 0; i < limits.size(); ++i) answer.chosen.emplace_back(devices[i], limits[i]);
}

/// Runs the command; its steps are those that it reports.
Result<PowerLimitAnswer> tune_by_reports(Job job) {
  PowerLimitAnswer answer;
  std::size_t told = 0;
  Outcome set;
  const std::vector<std::string> devices = job.tuner.devices();
  PJ_TRY(EpochPipe epochs, EpochPipe::open(job.options.spawn));
  std::optional<double> epoch_of;  ///< steps done when an epoch's end was heard of
  job.options.progress = [&](const RunProgress& progress) {
    if (epochs.ended()) {
      job.tuner.epoch_ended();
      epoch_of = progress.units;
    }
    // Between units the totals hold a part of a step; and until the first step of the next epoch
    // they hold what came between the two.
    if (!progress.at_unit || !set || progress.units <= epoch_of.value_or(-1)) return;
    StepTotals totals{progress.elapsed, progress.energy, progress.units};
    for (const std::string& device : devices)
      totals.gpus.push_back(progress.so_far.of_device(device));
    set = job.tuner.observe(totals);
    if (!set) complain("power limit: " + set.error().text());
    tell_progress(job.tuner, answer.unit, told);
  };
  PJ_TRY(const CommandResult run, run_command(job.meter, job.options));
  answer.exit_status = run.end.status;
  answer.steps = run.units;
  take(job.tuner, answer);
  return answer;
}

/// Runs the command; its steps are reckoned from the rhythm of its GPUs' power.
Result<PowerLimitAnswer> tune_by_activity(Job job) {
  PowerLimitAnswer answer;
  answer.unit = "period";
  std::size_t told = 0;
  bool failed = false;
  PowerCourse course(job.meter);
  ActivityTuner tuner(std::move(job.tuner), course.step());
  job.options.progress = [&](const RunProgress& progress) {
    if (failed) return;
    const auto restart = tuner.observe(progress.elapsed, progress.energy, course.watts());
    failed = !restart;
    if (failed) complain("power limit: " + restart.error().text());
    if (restart && *restart) course.restart();
    tell_progress(tuner.tuner(), answer.unit, told);
  };
  PJ_TRY(const CommandResult run, run_command(job.meter, job.options));
  answer.exit_status = run.end.status;
  answer.steps = tuner.steps();
  answer.periods = tuner.periods();
  answer.no_rhythm = tuner.missing();
  take(tuner.tuner(), answer);
  answer.notes.insert(answer.notes.end(), tuner.notes().begin(), tuner.notes().end());
  if (tuner.given_up()) answer.choice.reset();
  return answer;
}

void tell(const PowerLimitAnswer& answer, const Arguments& arguments) {
  if (arguments.json()) {
    print(power_limit_json(answer).dump(2) + "\n");
  } else {
    show_power_limit(answer);
  }
}

/// The choice on what a file holds; nothing is run.
Result<int> choose_on_recording(const Arguments& arguments) {
  if (!arguments.command().empty())
    return Error::invalid_argument("--recorded runs nothing: leave out the command");
  for (const std::string_view option : {"unit-pattern", "steps", "per-gpu", "gpu", "limits",
                                        "warm-up", "profile", "least", "drift", "stall", "every"}) {
    // What is set for all calls is for those that run something.
    if (!arguments.typed(option)) continue;
    return Error::invalid_argument(fmt::format("--{} is for a training that runs", option),
                                   "leave out it or --recorded");
  }
  PJ_TRY(const Rule rule, read_rule(arguments));
  const auto recording = read_limit_recording(arguments.value("recorded"));
  if (!recording) return fail(recording, "--recorded");
  PowerLimitAnswer answer;
  answer.rule = recording->with_max_power(rule);
  answer.max_power = recording->max_power;
  answer.recorded = arguments.value("recorded");
  answer.points = recording->points;
  answer.unit = recording->unit;
  answer.notes = recording->notes;
  PJ_TRY(const Frontier frontier, Frontier::make(answer.points));
  PJ_TRY(answer.choice, frontier.choose(answer.rule));
  tell(answer, arguments);
  return answer.choice->miss ? kAnswerIsNo : kDone;
}

Result<int> run(const Arguments& arguments) {
  PJ_TRY(PowerLimitPlan plan, read_plan(arguments));
  PJ_TRY(const CommandOptions options, read_command(arguments));
  PJ_TRY(const bool activity, by_activity(arguments));
  // Periods are counted in hindsight, many at once: none of them stands out.
  if (activity) plan.stall = 0;
  const RealClock clock;
  PJ_TRY(const Inventory machine, find_machine(clock));
  PJ_TRY(const ChosenSources gpus, job_gpus(arguments, machine));
  for (const std::string& note : gpus.notes) complain(note);
  PJ_TRY(const std::vector<Knob*> knobs, power_limit_knobs(machine, gpus.devices));
  PJ_TRY(KnobJournal journal, KnobJournal::open(journal_folder(), machine));
  PJ_TRY(PowerLimitTuner tuner, PowerLimitTuner::make(knobs, journal, plan));
  PJ_TRY(const std::vector<Calibration> calibrations, load_calibrations(calibration_path()));
  Meter meter(gpus.sources, clock, kTimelineBytes, calibrations);
  Job job{meter, options, std::move(tuner)};
  PJ_TRY(PowerLimitAnswer answer,
         activity ? tune_by_activity(std::move(job)) : tune_by_reports(std::move(job)));
  answer.per_gpu = plan.per_gpu;
  const Outcome restored = journal.restore();
  if (!restored) complain(restored.error().text());
  tell(answer, arguments);
  return answer.exit_status;
}

/// The rules, where they are not as everywhere: what is taken when none is given, and Pmax.
std::vector<Option> rules() {
  std::vector<Option> options = rule_options();
  for (Option& option : options) {
    if (option.name == "eta") option.help += "; taken with 0.5 when no rule is given";
    if (option.name == "max-power")
      option.help = "Pmax of --eta; the highest limit tried, summed over the GPUs, otherwise";
    if (option.name == "slowdown")
      option.help =
          "least energy at most FACTOR (1.1 or 10%) slower than the fastest of all that were "
          "measured";
    if (option.name == "lowest")
      option.help =
          "with --slowdown: the lowest value of SETTING (\"power limit\") instead, at most FACTOR "
          "slower than its highest value that was measured";
    if (option.name == "knee")
      option.help = "farthest below the line from fastest to least energy (of two points: --edp)";
  }
  return options;
}

}  // namespace

Verb train_power_limit_verb() {
  Verb verb;
  verb.name = "train power-limit";
  verb.summary = "find the power limit of a training while it goes on";
  verb.description =
      "Runs the command, measures its steps under each power limit from the highest down, sets the "
      "one the rule\nchooses (--eta 0.5 when none is given) and leaves it until the command ends; "
      "then every limit is put back,\nalso after a signal, and after SIGKILL by the next perjoule; "
      "at once where a GPU takes a limit no more. When\na step's time or energy changes by "
      "--drift, "
      "all is measured again. With --per-gpu those that the others wait\nfor keep that limit, and "
      "the rest take the least energy that keeps up.\n\n"
      "Steps are the lines the command writes to the descriptor PERJOULE_UNIT_FD, or matches of "
      "--unit-pattern; or,\nwith --steps activity, the periods of the GPUs' power, of a program "
      "that "
      "says nothing of them: where there is\nno clear rhythm, the limits stay as they are. A line "
      "to the descriptor PERJOULE_EPOCH_FD says that an epoch\nended: what comes until the next "
      "step "
      "(validation) is not measured.\n\n"
      "With --recorded nothing is run or set: the choice is made on what was measured before, and "
      "the exit status is\n1 when no limit meets the rule. Else it is the command's own (128 + "
      "signal), 125 when measuring failed, 126 and\n127 when the command cannot be run or found.";
  verb.options = {
      {"recorded", "FILE",
       "run nothing: choose on what FILE holds, Zeus's windows (CSV) or JSON of this verb"},
      {"unit-pattern", "REGEX",
       "count steps in the output: a match each, or its group is the count so far"},
      {"steps", "WAY", "reported, or activity: reckoned from the rhythm of the GPUs' power",
       "reported"},
      {"per-gpu", "", "each GPU of the job its own limit, where that costs the job no time"},
      {"gpu", "WORD,...", "the job's GPUs; all it may see otherwise", "", true},
      {"limits", "RANGE", "limits to try, W: 100:250:25; otherwise the GPU's own range by 25 W"},
      {"warm-up", "STEPS", "under each limit before it is measured", "10"},
      {"profile", "STEPS", "to measure under each limit", "40"},
      {"least", "TIME", "and as long at least", "1s"},
      {"drift", "SHARE", "change of a step after which all is measured again; 0: never", "0.1"},
      {"stall", "FACTOR",
       "leave out steps longer than so many medians (validation, a checkpoint); 0: none", "2"},
      {"every", "TIME", "sampling period", "100ms"},
  };
  for (Option& option : rules()) verb.options.push_back(std::move(option));
  verb.takes_command = true;
  verb.instead_of_command = {"recorded"};
  verb.own_failure = kOwnFailure;
  verb.examples = {
      "perjoule train power-limit --unit-pattern 'step (\\d+)' -- python3 train.py",
      "perjoule train power-limit --steps activity -- ./train",
      "perjoule train power-limit --per-gpu --unit-pattern 'step (\\d+)' -- torchrun train.py",
      "perjoule train power-limit --recorded profile.csv --slowdown 10%",
      "perjoule train power-limit --slowdown 5% --limits 150:300:25 --json -- ./train",
  };
  verb.run = [](const Arguments& arguments) -> Result<int> {
    if (arguments.has("recorded")) return choose_on_recording(arguments);
    return with_command_status("train power-limit", arguments, run);
  };
  return verb;
}

}  // namespace perjoule::cli
