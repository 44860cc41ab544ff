#include "cli/pipeline_options.h"

#include <fmt/format.h>

#include "base/text.h"

namespace perjoule::cli {
namespace {

Result<int> count_option(const Arguments& arguments, std::string_view option) {
  const std::string text = arguments.value(option);
  const auto count = parse_integer(text);
  if (count && *count >= 1 && *count <= 1'000'000) return static_cast<int>(*count);
  return Error::invalid_argument(fmt::format("--{} {}: not a count from 1 up", option, text));
}

Result<double> factor_option(const Arguments& arguments, std::string_view option) {
  const std::string text = arguments.value(option);
  const auto factor = parse_number(text);
  if (factor && *factor > 0) return *factor;
  return Error::invalid_argument(fmt::format("--{} {}: not a factor above 0", option, text));
}

Result<BlockingPower> blocking_power(const Arguments& arguments) {
  const std::string text = arguments.value("blocking-power");
  if (text.empty()) {
    return Error::invalid_argument(
        "--blocking-power is missing",
        "give what a GPU draws while it waits for a neighbour, in watts, or a table of it by "
        "setting; measure it as docs/pipeline.md says (an A100 draws about 84 W)");
  }
  if (const auto power = parse_watts(text)) {
    if (power->value() < 0) {
      return Error::invalid_argument("--blocking-power " + text + ": below zero");
    }
    return BlockingPower{*power, {}};
  }
  return read_blocking_power(text);
}

}  // namespace

std::vector<Option> pipeline_options() {
  return {
      {"microbatches", "COUNT", "of an iteration"},
      {"schedule", "NAME|FILE", "the order of instructions: a name, or a CSV file of one's own",
       "1f1b"},
      {"chunks", "COUNT", "model chunks a stage, for the interleaved schedules", "1"},
      {"blocking-power", "POWER|FILE",
       "what a GPU draws while it waits: watts, or a CSV table by setting"},
      {"time-scale", "FACTOR", "multiply the profile's times", "1"},
      {"energy-scale", "FACTOR", "multiply its energies: a stage of 8 GPUs measured on one has 8",
       "1"},
  };
}

Result<PipelineInput> read_pipeline(const Arguments& arguments) {
  PipelineInput input;
  if (!arguments.has("microbatches")) {
    return Error::invalid_argument("--microbatches is missing", "say how many an iteration has");
  }
  PJ_TRY(const int microbatches, count_option(arguments, "microbatches"));
  PJ_TRY(const int chunks, count_option(arguments, "chunks"));
  PJ_TRY(const double time_scale, factor_option(arguments, "time-scale"));
  PJ_TRY(const double energy_scale, factor_option(arguments, "energy-scale"));
  PJ_TRY(BlockingPower power, blocking_power(arguments));
  const std::string path = arguments.values("PROFILE").front();
  PJ_TRY(PipelineProfile profile, PipelineProfile::read(path));
  profile.scale(time_scale, energy_scale);
  input.profile = std::make_unique<PipelineProfile>(std::move(profile));
  PJ_TRY(PipelineSchedule schedule, make_schedule(arguments.value("schedule"),
                                                  {input.profile->stages(), microbatches, chunks}));
  input.schedule = std::make_unique<PipelineSchedule>(std::move(schedule));
  PJ_TRY(PipelineProblem problem,
         PipelineProblem::make(*input.profile, *input.schedule, std::move(power)));
  input.problem = std::make_unique<PipelineProblem>(std::move(problem));
  input.source = path;
  return input;
}

}  // namespace perjoule::cli
