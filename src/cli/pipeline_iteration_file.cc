#include "cli/pipeline_iteration_file.h"

#include "base/json.h"
#include "cli/pipeline_notes.h"
#include "cli/pipeline_plan_file.h"
#include "pipeline/plan/energy_error.h"
#include "pipeline/plan/iteration_detail.h"

namespace perjoule::cli {
namespace {

Json json_of(const PipelineProblem& problem, const PipelineStep& step,
             const ActivityDetail& detail) {
  Json::Object members = {
      {"instruction", problem.schedule().instructions[step.instruction]},
      {"microbatch", step.microbatch},
      {"chunk", step.chunk},
      {"start_s", problem.seconds(detail.start).value()},
      {"end_s", problem.seconds(detail.end).value()},
      {"slack_s", problem.seconds(detail.slack).value()},
      {"knob", static_cast<std::int64_t>(detail.knob)},
      {"switched", detail.switched},
  };
  if (step.backward_microbatch != PipelineStep::kNone) {
    members.emplace_back("backward_microbatch", step.backward_microbatch);
  }
  return Json::of(std::move(members));
}

Json json_of(const StageIteration& stage) {
  return Json::of({
      {"busy_s", stage.busy.value()},
      {"waited_s", stage.waited.value()},
      {"energy_j", stage.energy().value()},
      {"working_j", stage.working.value()},
      {"waiting_j", stage.waiting.value()},
      {"switches", static_cast<std::int64_t>(stage.switches)},
  });
}

Json json_of(const Distribution& one) {
  return Json::of({{"mean", one.mean}, {"p5", one.p5}, {"p50", one.p50}, {"p95", one.p95}});
}

Json json_of(const SimulatedIteration::Samples& samples) {
  Json json = Json::of({
      {"status", "simulated"},
      {"count", samples.request.samples},
      {"seed", static_cast<std::int64_t>(samples.request.seed)},
      {"varying", static_cast<std::int64_t>(samples.spread.varying)},
      {"late_share", samples.spread.late_share},
  });
  json["time_s"] = json_of(samples.spread.time);
  json["energy_j"] = json_of(samples.spread.energy);
  return json;
}

}  // namespace

std::string iteration_document(const PipelineInput& input, const SimulatedIteration& simulated) {
  const PipelineProblem& problem = *input.problem;
  const PipelineSchedule& schedule = *input.schedule;
  const Iteration& iteration = simulated.iteration;
  Json head = Json::of({{"schema", "perjoule.pipeline-iteration.v1"}});
  add_provenance(head);
  Json::Object document = *head.as_object();
  const Json::Object figures = {
      {"profile", input.source},
      {"schedule", schedule.name},
      {"stages", static_cast<std::int64_t>(schedule.stages.size())},
      {"microbatches", schedule.shape.microbatches},
      {"chunks", schedule.shape.chunks},
      {"setting", simulated.setting},
      {"time_s", problem.seconds(iteration.makespan).value()},
      {"energy_j", iteration.energy.value()},
      {"energy_sigma_j", sigma_json(energy_error(problem, simulated.option))},
      {"working_j", iteration.working.value()},
      {"waiting_j", iteration.waiting.value()},
      {"switches", static_cast<std::int64_t>(iteration.switches)},
  };
  document.insert(document.end(), figures.begin(), figures.end());
  if (simulated.plan) {
    document.emplace_back("requested_s", simulated.plan->requested.value());
    document.emplace_back("bound_j", simulated.plan->bound.value());
    document.emplace_back("gap", simulated.plan->gap);
  }
  if (simulated.samples) document.emplace_back("samples", json_of(*simulated.samples));
  Json::Array knobs;
  for (const Config& knob : problem.knobs()) knobs.push_back(knob_json(knob));
  document.emplace_back("knobs", std::move(knobs));
  const auto details = activity_details(problem, simulated.option, iteration);
  const std::vector<StageIteration>& stages = iteration.stages;
  Json::Array by_stage;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    Json stage = json_of(stages[s]);
    Json::Array steps;
    for (std::size_t i = 0; i < schedule.stages[s].size(); ++i) {
      steps.push_back(json_of(problem, schedule.stages[s][i], details[schedule.number(s, i)]));
    }
    stage["steps"] = std::move(steps);
    by_stage.push_back(std::move(stage));
  }
  document.emplace_back("by_stage", std::move(by_stage));
  return Json::of(std::move(document)).dump() + "\n";
}

}  // namespace perjoule::cli
