// perjoule pipeline run and profile: a training whose ranks take their clocks from a plan server.
#include <fmt/format.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/command_status.h"
#include "cli/pipeline_job.h"
#include "cli/pipeline_options.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "pipeline/runtime/plan_server.h"

namespace perjoule::cli {
namespace {

Result<double> share_option(const Arguments& arguments, std::string_view option, double least) {
  const std::string text = arguments.value(option);
  const auto number = parse_number(text);
  if (number && *number >= least && *number <= 1e6) return *number;
  return Error::invalid_argument(
      fmt::format("--{} {}: not a number from {} up", option, text, least));
}

/// Refuses what would be ignored.
Outcome check_profile_options(const Arguments& arguments) {
  const bool given = arguments.has("profile");
  for (const std::string_view option : {"clocks", "rounds", "output", "power-output"}) {
    if (!given || !arguments.typed(option)) continue;
    return Error::invalid_argument(
        fmt::format("--{} is for a training that is profiled, and --profile is given", option),
        "leave out one of the two");
  }
  for (const std::string_view option : {"blocking-power", "gpus", "time-scale", "energy-scale"}) {
    if (given || !arguments.typed(option)) continue;
    return Error::invalid_argument(
        fmt::format("--{} goes with --profile; without one it is measured", option),
        "leave it out, or give the profile");
  }
  return {};
}

Outcome check_outputs(const Arguments& arguments) {
  for (const std::string_view option : {"output", "power-output", "switch-output"}) {
    if (arguments.has(option)) PJ_CHECK(check_writable(arguments.value(option)));
  }
  return {};
}

/// Writes what was profiled where it is wanted.
Outcome keep_profile(const Arguments& arguments, const MeasuredProfile::Answer& measured) {
  if (arguments.has("output")) {
    PJ_CHECK(write_file_atomically(arguments.value("output"), profile_csv(measured.profile)));
  }
  if (arguments.has("power-output")) {
    PJ_CHECK(
        write_file_atomically(arguments.value("power-output"), blocking_power_csv(measured.power)));
  }
  return {};
}

void show_profile(const MeasuredProfile::Answer& measured) {
  Table table({{"STAGE", Table::Align::kRight},
               {"INSTRUCTION"},
               {"SETTING"},
               {"TIME", Table::Align::kRight},
               {"ENERGY", Table::Align::kRight},
               {"+- (k=2)", Table::Align::kRight}});
  for (const ProfiledInstruction& one : measured.profile.instructions()) {
    for (const KnobOption& option : one.options) {
      table.add({std::to_string(one.stage), one.name, option.knob.text(), to_text(option.time),
                 to_text(option.energy), to_text(option.energy_spread * 2)});
    }
  }
  print("\n" + table.text() + "\nThe GPUs of a stage that wait draw");
  for (const BlockingPower::AtKnob& one : measured.power.by_knob)
    print(fmt::format(" {} at {};", to_text(one.power, 3), one.knob.text()));
  print("\n");
}

Result<int> profile(const Arguments& arguments) {
  PJ_TRY(PipelineJob job, read_pipeline_job(arguments));
  RuntimeRequest request;
  request.only_profile = true;
  PJ_CHECK(read_profiling(arguments, request));
  PJ_CHECK(check_outputs(arguments));
  PJ_TRY(const auto service, PlanService::make(std::move(job), std::move(request)));
  PJ_TRY(const PipelineJobEnd end, run_pipeline_job(*service, arguments));
  const auto measured = service->measured();
  if (!measured) {
    const auto failure = service->failure();
    if (failure) return tl::unexpected<Error>(*failure);
    return Error::unavailable(
        "the training was not profiled: its ranks ended too early, or never joined",
        "call pj_pipeline_join and its like in every rank, and train longer");
  }
  PJ_CHECK(keep_profile(arguments, *measured));
  if (arguments.json()) {
    print(status_json(*service).dump(2) + "\n");
  } else {
    show_stretches(*service);
    show_profile(*measured);
  }
  return end.command.status;
}

Result<int> run(const Arguments& arguments) {
  PJ_CHECK(check_profile_options(arguments));
  PJ_TRY(PipelineJob job, read_pipeline_job(arguments));
  RuntimeRequest request;
  PJ_CHECK(read_profiling(arguments, request));
  PJ_TRY(request.highest, read_size(arguments, "compare"));
  PJ_TRY(request.plans.slowdown, share_option(arguments, "slowdown", 1));
  PJ_TRY(request.plans.switching, read_switch_cost(arguments));
  PJ_TRY(request.drift, share_option(arguments, "drift", 0));
  PJ_TRY(request.patience, read_size(arguments, "patience"));
  if (arguments.has("profile")) {
    PJ_TRY(request.profile, read_scaled_profile(arguments, arguments.value("profile")));
    PJ_TRY(request.power, read_waiting_power(arguments));
    PJ_TRY(const int gpus, read_stage_gpus(arguments, *request.profile));
    request.power.scale(gpus);
  }
  PJ_CHECK(check_outputs(arguments));
  PJ_TRY(const auto service, PlanService::make(std::move(job), std::move(request)));
  PJ_TRY(const PipelineJobEnd end, run_pipeline_job(*service, arguments));
  if (const auto measured = service->measured()) PJ_CHECK(keep_profile(arguments, *measured));
  if (arguments.has("switch-output")) {
    PJ_CHECK(write_file_atomically(arguments.value("switch-output"),
                                   switch_times_csv(service->switching())));
  }
  if (arguments.json()) {
    print(status_json(*service).dump(2) + "\n");
  } else {
    show_stretches(*service);
  }
  if (const auto failure = service->failure()) complain("pipeline run: " + failure->text());
  if (end.lost_ranks > 0) {
    complain(fmt::format("pipeline run: {} ended without leaving; clocks are put back",
                         counted(end.lost_ranks, "rank")));
  }
  if (service->ranks() == 0) complain("pipeline run: no rank joined");
  // The training's own failure says more than what could not be measured of it.
  const bool nothing = service->failure() || service->summaries().empty();
  return nothing && end.command.status == 0 ? kOwnFailure : end.command.status;
}

const std::vector<Option> kOutputs = {
    {"output", "FILE", "write the profile: CSV, as pipeline plan takes it"},
    {"power-output", "FILE",
     "write what the GPUs of a stage that wait draw by setting, as --blocking-power takes it"},
};

constexpr char kRanks[] =
    "The ranks call pj_pipeline_join, _begin and _end of the library (perjoule.h), which find the "
    "plan server by the\nvariable PERJOULE_PIPELINE; examples/pipeline is such a training. The "
    "exit "
    "status is the command's own (128 +\nsignal), 125 when nothing was measured, 126 and 127 when "
    "the command cannot be run or found.";

}  // namespace

Verb pipeline_profile_verb() {
  Verb verb;
  verb.name = "pipeline profile";
  verb.summary = "measure what each instruction of each stage takes at each clock, while it trains";
  verb.description =
      std::string(
          "Runs a training whose ranks tell when their instructions begin and end. Each "
          "iteration runs at one clock, and\nthe clocks are gone through in turn, down and "
          "up. Energy is told apart by regression on the ticks of the\nGPUs' counters; "
          "docs/pipeline.md has the method. Then the training goes on at the highest "
          "clock.\n\n") +
      kRanks;
  verb.options = pipeline_job_options();
  verb.options.insert(verb.options.end(), kOutputs.begin(), kOutputs.end());
  verb.takes_command = true;
  verb.own_failure = kOwnFailure;
  verb.examples = {
      "perjoule pipeline profile --stages 4 --microbatches 16 --output profile.csv --power-output "
      "waiting.csv -- torchrun train.py"};
  verb.run = [](const Arguments& arguments) {
    return with_command_status("pipeline profile", arguments, profile);
  };
  return verb;
}

Verb pipeline_run_verb() {
  Verb verb;
  verb.name = "pipeline run";
  verb.summary = "train with the clock of each instruction set as planned";
  verb.description =
      std::string(
          "Profiles the training (or takes --profile), runs some iterations at the highest "
          "clock to compare with, plans, and\nlets each rank set its GPU's clock before each "
          "instruction. Where times drift from the profile's, all is\nplanned anew; while a "
          "pipeline straggles (perjoule pipeline straggler), the others take their time. "
          "Clocks are\nput back at the end, and of a rank that dies at once.\n\n") +
      kRanks;
  verb.options = pipeline_job_options();
  const std::vector<Option> own = {
      {"switch-output", "FILE",
       "write what changes of setting were seen to take, as --switch-time takes it"},
      {"profile", "FILE",
       "plan with this profile instead of measuring one (with --blocking-power)"},
      {"slowdown", "FACTOR", "how many times the highest clock's iteration a plan may take", "1"},
      {"compare", "COUNT",
       "iterations at the highest clock before plans come into force, and again once a plan stands",
       "5"},
      {"drift", "SHARE", "of an instruction's time, after which all is planned anew", "0.03"},
      {"patience", "COUNT", "iterations that a drift must last; 1: a plan for each iteration", "5"},
  };
  verb.options.insert(verb.options.end(), own.begin(), own.end());
  for (Option& option : profile_options()) verb.options.push_back(std::move(option));
  verb.options.insert(verb.options.end(), kOutputs.begin(), kOutputs.end());
  verb.takes_command = true;
  verb.own_failure = kOwnFailure;
  verb.examples = {
      "perjoule pipeline run --stages 4 --microbatches 16 -- torchrun train.py",
      "perjoule pipeline run --profile profile.csv --blocking-power waiting.csv --microbatches 16 "
      "--slowdown 1.05 -- torchrun train.py"};
  verb.run = [](const Arguments& arguments) {
    return with_command_status("pipeline run", arguments, run);
  };
  return verb;
}

}  // namespace perjoule::cli
