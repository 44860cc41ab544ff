#include "cli/pipeline_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/pipeline_notes.h"

namespace perjoule::cli {
namespace {

Result<double> factor_option(const Arguments& arguments, std::string_view option) {
  const std::string text = arguments.value(option);
  const auto factor = parse_number(text);
  if (factor && *factor > 0) return *factor;
  return Error::invalid_argument(fmt::format("--{} {}: not a factor above 0", option, text));
}

}  // namespace

std::vector<Option> schedule_options() {
  return {
      {"microbatches", "COUNT", "of an iteration; an order file knows its own"},
      {"schedule", "NAME|FILE",
       fmt::format("the order of instructions: {}, or a CSV file of one's own",
                   fmt::join(schedule_names(), ", ")),
       "1f1b"},
      {"chunks", "COUNT", "model chunks a stage, for the interleaved schedule", "1"},
      {"data-load", "INSTRUCTION",
       "the profile's instruction before each forward that a microbatch enters by"},
      {"stage-end", "INSTRUCTION,...",
       "those once at the end of each stage: all-reduce, optimizer step", "", true},
  };
}

std::vector<Option> profile_options() {
  return {
      {"blocking-power", "POWER|FILE",
       "what a GPU draws while it waits: watts, or a CSV table by setting"},
      {"gpus", "COUNT",
       "of each stage, where the profile's energies are of so many: all of them wait. As many as "
       "the "
       "profile names for a stage otherwise"},
      {"time-scale", "FACTOR", "multiply the profile's times", "1"},
      {"energy-scale", "FACTOR", "multiply its energies: a stage of 8 GPUs measured on one has 8",
       "1"},
      {"switch-time", "TIME|FILE",
       "what a change of setting between two instructions takes: a time, or a CSV table by pair",
       "0"},
      {"switch-energy", "ENERGY", "and above what waiting takes meanwhile", "0"},
      {"dwell", "TIME", "keep each setting for instructions of so long together at least", "0"},
  };
}

std::vector<Option> pipeline_options() {
  std::vector<Option> options = schedule_options();
  for (Option& option : profile_options()) options.push_back(std::move(option));
  return options;
}

Result<int> read_size(const Arguments& arguments, std::string_view option) {
  const std::string text = arguments.value(option);
  const auto count = parse_integer(text);
  if (count && *count >= 1 && *count <= 1'000'000) return static_cast<int>(*count);
  return Error::invalid_argument(
      fmt::format("--{} {}: not a count from 1 to 1000000", option, text));
}

Result<ScheduleShape> read_schedule_shape(const Arguments& arguments) {
  ScheduleShape shape;
  const auto& names = schedule_names();
  const std::string name = arguments.value("schedule");
  const bool is_built_in = std::any_of(names.begin(), names.end(), [&](std::string_view other) {
    return equals_ignoring_case(name, other);
  });
  if (arguments.has("microbatches")) {
    PJ_TRY(shape.microbatches, read_size(arguments, "microbatches"));
  } else if (is_built_in) {
    return Error::invalid_argument("--microbatches is missing", "say how many an iteration has");
  } else {
    shape.microbatches = 0;  // as the file has it
  }
  PJ_TRY(shape.chunks, read_size(arguments, "chunks"));
  shape.load = arguments.value("data-load");
  PJ_TRY(shape.stage_end, arguments.list("stage-end"));
  return shape;
}

Result<BlockingPower> read_waiting_power(const Arguments& arguments) {
  const std::string text = arguments.value("blocking-power");
  if (text.empty()) {
    return Error::invalid_argument(
        "--blocking-power is missing",
        "give what a GPU draws while it waits for a neighbour, in watts, or a table of it by "
        "setting; measure it as docs/pipeline.md says (an A100 draws about 84 W)");
  }
  if (const auto power = parse_watts(text)) {
    if (power->value() < 0) {
      return Error::invalid_argument("--blocking-power " + text + ": below zero",
                                     "a GPU that waits draws power: measure it, in watts");
    }
    return BlockingPower{*power, {}};
  }
  return read_blocking_power(text);
}

Result<SwitchCost> read_switch_cost(const Arguments& arguments) {
  SwitchCost cost;
  const std::string switch_time = arguments.value("switch-time");
  if (const auto time = parse_seconds(switch_time)) {
    cost.time = *time;
  } else {
    PJ_TRY(cost, read_switch_times(switch_time));
  }
  PJ_TRY(const auto energy, arguments.read("switch-energy", parse_joules));
  PJ_TRY(const auto dwell, arguments.read("dwell", parse_seconds));
  cost.energy = energy.value_or(Joules(0));
  cost.dwell = dwell.value_or(Seconds(0));
  const bool sane = cost.time.value() >= 0 && cost.energy.value() >= 0 && cost.dwell.value() >= 0 &&
                    cost.time.value() < 1e6 && cost.dwell.value() < 1e6;
  if (sane) return cost;
  return Error::invalid_argument("--switch-time, --switch-energy and --dwell are from 0 up");
}

Result<PipelineProfile> read_scaled_profile(const Arguments& arguments, const std::string& path) {
  PJ_TRY(const double time_scale, factor_option(arguments, "time-scale"));
  PJ_TRY(const double energy_scale, factor_option(arguments, "energy-scale"));
  PJ_TRY(PipelineProfile profile, PipelineProfile::read(path));
  say_left_out(profile);
  profile.scale(time_scale, energy_scale);
  return profile;
}

Result<int> read_stage_gpus(const Arguments& arguments, const PipelineProfile& profile) {
  if (arguments.has("gpus")) return read_size(arguments, "gpus");
  for (int stage = 1; stage < profile.stages(); ++stage) {
    if (profile.gpus(stage) == profile.gpus(0)) continue;
    return Error::invalid_argument(
        fmt::format("{} has {} GPUs for stage 0 and {} for stage {}", profile.name(),
                    profile.gpus(0), profile.gpus(stage), stage),
        "the GPUs of all stages wait for one another: say with --gpus how many each stage has");
  }
  return profile.gpus(0);
}

std::string PipelineInput::heading() const {
  return fmt::format("{}: {}, {}, {}, {}", source, schedule->name,
                     counted(static_cast<double>(schedule->stages.size()), "stage"),
                     counted(schedule->shape.microbatches, "microbatch"),
                     counted(schedule->size(), "instruction"));
}

std::vector<Table::Column> iteration_columns() {
  return {{""},
          {"TIME", Table::Align::kRight},
          {"ENERGY", Table::Align::kRight},
          {"SAVED", Table::Align::kRight},
          {"LONGER", Table::Align::kRight},
          {"ABOVE BOUND", Table::Align::kRight},
          {"SWITCHES", Table::Align::kRight}};
}

Result<PipelineInput> read_pipeline(const Arguments& arguments) {
  PipelineInput input;
  PJ_TRY(ScheduleShape shape, read_schedule_shape(arguments));
  PJ_TRY(BlockingPower power, read_waiting_power(arguments));
  PJ_TRY(const SwitchCost switching, read_switch_cost(arguments));
  const std::string path = arguments.values("PROFILE").front();
  PJ_TRY(PipelineProfile profile, read_scaled_profile(arguments, path));
  PJ_TRY(const int gpus, read_stage_gpus(arguments, profile));
  power.scale(gpus);
  input.profile = std::make_unique<PipelineProfile>(std::move(profile));
  shape.stages = input.profile->stages();
  PJ_TRY(PipelineSchedule schedule, make_schedule(arguments.value("schedule"), shape));
  input.schedule = std::make_unique<PipelineSchedule>(std::move(schedule));
  PJ_TRY(PipelineProblem problem,
         PipelineProblem::make(*input.profile, *input.schedule, std::move(power), switching));
  input.problem = std::make_unique<PipelineProblem>(std::move(problem));
  input.source = path;
  return input;
}

}  // namespace perjoule::cli
