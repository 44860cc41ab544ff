#include "cli/pipeline_plan_file.h"

#include <fmt/format.h>

#include <iterator>

#include "base/json.h"

namespace perjoule::cli {
namespace {

using Out = std::back_insert_iterator<std::string>;

std::string quoted(std::string_view text) { return Json(text).dump(); }

Json json_of(const Config& knob) {
  Json json = Json::object();
  for (const Setting setting : knob.settings()) json[std::string(setting.name)] = setting.value;
  return json;
}

void write_iteration(Out out, const PipelineProblem& problem, const Iteration& iteration) {
  fmt::format_to(out, R"("time_s":{},"energy_j":{},"working_j":{},"waiting_j":{},"switches":{})",
                 problem.seconds(iteration.makespan).value(), iteration.energy.value(),
                 iteration.working.value(), iteration.waiting.value(), iteration.switches);
}

}  // namespace

std::string plan_document(const PipelineInput& input, const PipelineStudy& study) {
  const PipelineProblem& problem = *input.problem;
  const PipelineSchedule& schedule = *input.schedule;
  std::string text;
  text.reserve(schedule.size() * (study.plans().size() * 3 + 12));
  const Out out = std::back_inserter(text);
  fmt::format_to(out,
                 "{{\n\"schema\":\"perjoule.pipeline-plans.v1\",\"status\":\"reconstructed\","
                 "\"boundary\":\"B0\",\n\"profile\":{},\"schedule\":{},\"stages\":{},"
                 "\"microbatches\":{},\"chunks\":{},\"blocking_power_w\":{},\n",
                 quoted(input.source), quoted(schedule.name), schedule.stages.size(),
                 schedule.shape.microbatches, schedule.shape.chunks,
                 problem.power().least().value());
  fmt::format_to(out, "\"shortest_s\":{},\"least_energy_s\":{},\"longest_s\":{},\n",
                 problem.seconds(study.shortest()).value(),
                 problem.seconds(study.least_energy()).value(),
                 problem.seconds(study.longest()).value());
  fmt::format_to(out, "\"highest\":{{");
  write_iteration(out, problem, study.highest());
  fmt::format_to(out, "}},\n\"instructions\":[");
  for (std::size_t i = 0; i < schedule.instructions.size(); ++i) {
    fmt::format_to(out, "{}{}", i > 0 ? "," : "", quoted(schedule.instructions[i]));
  }
  fmt::format_to(out, "],\n\"knobs\":[");
  for (std::size_t i = 0; i < problem.knobs().size(); ++i) {
    fmt::format_to(out, "{}{}", i > 0 ? "," : "", json_of(problem.knobs()[i]).dump());
  }
  // Each stage's order once; the plans name the knob of each of its steps.
  fmt::format_to(out, "],\n\"order\":[");
  for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
    fmt::format_to(out, "{}[", stage > 0 ? ",\n" : "\n");
    bool first = true;
    for (const PipelineStep& step : schedule.stages[stage]) {
      fmt::format_to(out, "{}[{},{},{}]", first ? "" : ",", step.instruction, step.microbatch,
                     step.chunk);
      first = false;
    }
    text += ']';
  }
  fmt::format_to(out, "],\n\"plans\":[");
  for (std::size_t p = 0; p < study.plans().size(); ++p) {
    const PlannedIteration& one = study.plans()[p];
    fmt::format_to(out, "{}{{\"requested_s\":{},", p > 0 ? ",\n" : "\n",
                   problem.seconds(one.plan.requested).value());
    write_iteration(out, problem, one.iteration);
    fmt::format_to(out, ",\"until_requested_j\":{},\"bound_j\":{},\"gap\":{},\n\"knob\":[",
                   one.energy.value(), one.bound.value(), one.gap());
    for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
      text += stage > 0 ? ",[" : "[";
      for (std::size_t i = 0; i < schedule.stages[stage].size(); ++i) {
        const std::uint32_t a = schedule.number(stage, i);
        const PipelineOption& option = problem.options(problem.class_of()[a])[one.plan.option[a]];
        if (i > 0) text += ',';
        const fmt::format_int number(problem.knob_of(a, option.index));
        text.append(number.data(), number.size());
      }
      text += ']';
    }
    text += "]}";
  }
  text += "]\n}\n";
  return text;
}

}  // namespace perjoule::cli
