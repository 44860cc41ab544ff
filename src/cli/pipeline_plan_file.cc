#include "cli/pipeline_plan_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <iterator>

#include "base/file.h"
#include "cli/pipeline_notes.h"
#include "pipeline/plan/baselines.h"
#include "pipeline/plan/energy_error.h"

namespace perjoule::cli {
namespace {

using Out = std::back_insert_iterator<std::string>;

std::string quoted(std::string_view text) { return Json(text).dump(); }

/// As Json has it: what is not finite is null, because JSON has no other word for it.
std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : std::string("null");
}

void write_iteration(Out out, const PipelineProblem& problem, const Iteration& iteration,
                     std::optional<Joules> error) {
  const Watts left = problem.power().least() * static_cast<double>(iteration.stages.size()) +
                     iteration.left_above_least;
  fmt::format_to(
      out,
      R"("time_s":{},"energy_j":{},"energy_sigma_j":{},"working_j":{},"waiting_j":{},"left_w":{},"switches":{})",
      number(problem.seconds(iteration.makespan).value()), number(iteration.energy.value()),
      sigma_json(error).dump(), number(iteration.working.value()),
      number(iteration.waiting.value()), number(left.value()), iteration.switches);
}

/// `name`, and for each stage what `write` writes for each of its steps.
template <typename Write>
void write_by_step(Out out, std::string_view name, const PipelineSchedule& schedule,
                   const Write& write) {
  fmt::format_to(out, "\"{}\":[", name);
  for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
    fmt::format_to(out, "{}[", stage > 0 ? ",\n" : "\n");
    bool first = true;
    for (const PipelineStep& step : schedule.stages[stage]) {
      if (!first) *out++ = ',';
      first = false;
      write(step);
    }
    *out++ = ']';
  }
  *out++ = ']';
}

void write_order(Out out, const PipelineSchedule& schedule) {
  bool has_fused = false;
  write_by_step(out, "order", schedule, [&](const PipelineStep& step) {
    fmt::format_to(out, "[{},{},{}]", step.instruction, step.microbatch, step.chunk);
    has_fused = has_fused || step.backward_microbatch != PipelineStep::kNone;
  });
  if (!has_fused) return;
  fmt::format_to(out, ",\n");
  write_by_step(out, "backward_microbatch", schedule, [&](const PipelineStep& step) {
    if (step.backward_microbatch == PipelineStep::kNone) {
      fmt::format_to(out, "null");
    } else {
      fmt::format_to(out, "{}", step.backward_microbatch);
    }
  });
}

tl::unexpected<Error> not_plans(const std::string& path, const std::string& why) {
  return Error::invalid_argument(path + ": no file of pipeline plans: " + why,
                                 "it is written by: perjoule pipeline plan --output FILE");
}

Result<PlanFile::Plan> plan_of(const Json& json, const std::string& path) {
  double values[3];
  const std::string_view names[3] = {"time_s", "energy_j", "left_w"};
  for (int i = 0; i < 3; ++i) {
    const auto number = json.number(names[i]);
    if (!number) return not_plans(path, fmt::format("a {} is missing or no number", names[i]));
    if (!std::isfinite(*number) || *number < 0 || (i == 0 && *number == 0)) {
      return not_plans(path, fmt::format("{} is {}", names[i], *number));
    }
    values[i] = *number;
  }
  // Null where it is not known, and not there in files of before.
  std::optional<Joules> error;
  if (const Json* sigma = json.find("energy_sigma_j"); sigma != nullptr && !sigma->is_null()) {
    const auto number = sigma->as_number();
    if (!number || !std::isfinite(*number) || *number < 0) {
      return not_plans(path, "an energy_sigma_j is no number from 0 up");
    }
    error = Joules(*number);
  }
  return PlanFile::Plan{Seconds(values[0]), Joules(values[1]), Watts(values[2]), error};
}

/// Whether every element of a list is what `fits` takes; false as well where it is no list.
template <typename Fits>
bool is_list_of(const Json& json, const Fits& fits) {
  const Json::Array* const list = json.as_array();
  return list != nullptr && std::all_of(list->begin(), list->end(), fits);
}

/// A microbatch, a chunk or, below `end`, an instruction.
bool is_count(const Json& json, std::int64_t end = INT_MAX) {
  const auto number = json.as_integer();
  return number && *number >= 0 && *number < end;
}

/// Of the settings of all plans; names and order are looked at on the way.
Result<SettingsShape> shape_of(const Json& document, const std::string& path) {
  SettingsShape shape;
  const Json& knobs = *document.find("knobs");
  if (!is_list_of(knobs, [](const Json& knob) { return knob.is_object(); })) {
    return not_plans(path, "knobs is no list of objects");
  }
  shape.knobs = knobs.as_array()->size();
  const Json& instructions = *document.find("instructions");
  if (!is_list_of(instructions, [](const Json& name) { return name.is_string(); })) {
    return not_plans(path, "instructions is no list of names");
  }
  const auto names = static_cast<std::int64_t>(instructions.as_array()->size());
  const auto is_step = [names](const Json& step) {
    const Json::Array* const parts = step.as_array();
    return parts != nullptr && parts->size() == 3 && is_count((*parts)[0], names) &&
           is_count((*parts)[1]) && is_count((*parts)[2]);
  };
  const auto is_stage = [&](const Json& steps) { return is_list_of(steps, is_step); };
  const Json& order = *document.find("order");
  if (!is_list_of(order, is_stage) || order.as_array()->empty()) {
    return not_plans(path,
                     "order is no list of stages, each of [instruction, microbatch, chunk] with an "
                     "instruction that is named");
  }
  for (const Json& steps : *order.as_array()) shape.steps.push_back(steps.as_array()->size());
  const Json* const fused = document.find("backward_microbatch");
  if (fused == nullptr) return shape;
  std::size_t stage = 0;
  const bool fits = is_list_of(*fused, [&](const Json& steps) {
    return stage < shape.steps.size() &&
           is_list_of(steps, [](const Json& one) { return one.is_null() || is_count(one); }) &&
           steps.as_array()->size() == shape.steps[stage++];
  });
  if (fits && stage == shape.steps.size()) return shape;
  return not_plans(path, "backward_microbatch is not of the order's steps");
}

}  // namespace

Json knob_json(const Config& knob) {
  Json json = Json::object();
  for (const Setting setting : knob.settings()) json[setting.name] = setting.value;
  return json;
}

Result<PlanFile> read_plan_file(const std::string& path) {
  PJ_TRY(const std::string text, read_file(path));
  Result<Json> document = parse_json(text);
  if (!document) return fail(document, path);
  PlanFile file{{}, {}, {}, {}, std::move(*document)};
  if (file.document.string("schema") != "perjoule.pipeline-plans.v1") {
    return not_plans(path, "its schema is another");
  }
  for (const std::string_view member : {"highest", "knobs", "order", "instructions", "plans"}) {
    if (file.document.find(member) == nullptr) {
      return not_plans(path, fmt::format("{} is missing", member));
    }
  }
  PJ_TRY(file.highest, plan_of(*file.document.find("highest"), path));
  const auto least_energy = file.document.number("least_energy_s");
  if (!least_energy || !std::isfinite(*least_energy))
    return not_plans(path, "least_energy_s is missing or no number");
  file.least_energy = Seconds(*least_energy);
  const Json::Array* plans = file.document.find("plans")->as_array();
  if (plans == nullptr || plans->empty()) return not_plans(path, "it has no plans");
  for (const Json& one : *plans) {
    PJ_TRY(const PlanFile::Plan plan, plan_of(one, path));
    if (one.find("knob") == nullptr && (file.plans.empty() || one.find("changes") == nullptr)) {
      return not_plans(path, "a plan has no knob");
    }
    file.plans.push_back(plan);
  }
  PJ_TRY(file.shape, shape_of(file.document, path));
  PJ_CHECK(check_settings(*plans, file.shape, path));
  return file;
}

std::string plan_document(const PipelineInput& input, const PipelineStudy& study,
                          PlanSettings how) {
  const PipelineProblem& problem = *input.problem;
  const PipelineSchedule& schedule = *input.schedule;
  std::string text;
  text.reserve(schedule.size() * (study.plans().size() * 3 + 12));
  const Out out = std::back_inserter(text);
  Json provenance = Json::object();
  add_provenance(provenance);
  const std::string members = provenance.dump();
  fmt::format_to(out,
                 "{{\n\"schema\":\"perjoule.pipeline-plans.v1\",{},\n\"profile\":{},\"schedule\":{}"
                 ",\"stages\":{},"
                 "\"microbatches\":{},\"chunks\":{},\"blocking_power_w\":{},\n",
                 std::string_view(members).substr(1, members.size() - 2), quoted(input.source),
                 quoted(schedule.name), schedule.stages.size(), schedule.shape.microbatches,
                 schedule.shape.chunks, number(problem.power().least().value()));
  fmt::format_to(out, "\"shortest_s\":{},\"least_energy_s\":{},\"longest_s\":{},\n",
                 number(problem.seconds(study.shortest()).value()),
                 number(problem.seconds(study.least_energy()).value()),
                 number(problem.seconds(study.longest()).value()));
  fmt::format_to(out, "\"whole_frontier\":{},\n", study.frontier().whole());
  fmt::format_to(out, "\"highest\":{{");
  write_iteration(out, problem, study.highest(), energy_error(problem, highest_settings(problem)));
  fmt::format_to(out, "}},\n\"instructions\":[");
  for (std::size_t i = 0; i < schedule.instructions.size(); ++i) {
    fmt::format_to(out, "{}{}", i > 0 ? "," : "", quoted(schedule.instructions[i]));
  }
  fmt::format_to(out, "],\n\"knobs\":[");
  for (std::size_t i = 0; i < problem.knobs().size(); ++i) {
    fmt::format_to(out, "{}{}", i > 0 ? "," : "", knob_json(problem.knobs()[i]).dump());
  }
  // Each stage's order once; the plans name the knob of each of its steps.
  fmt::format_to(out, "],\n");
  write_order(out, schedule);
  fmt::format_to(out, ",\n\"plans\":[");
  StepSettings before;
  for (std::size_t p = 0; p < study.plans().size(); ++p) {
    const PlannedIteration& one = study.plans()[p];
    fmt::format_to(out, "{}{{\"requested_s\":{},", p > 0 ? ",\n" : "\n",
                   number(problem.seconds(one.plan.requested).value()));
    write_iteration(out, problem, one.iteration,
                    energy_error(problem, measured_options(problem, one.plan)));
    fmt::format_to(out, ",\"until_requested_j\":{},\"bound_j\":{},\"gap\":{},\n",
                   number(one.energy.value()), number(one.bound.value()), number(one.gap()));
    StepSettings settings = settings_of(problem, one.plan);
    if (p > 0 && how == PlanSettings::kChanges) {
      write_changes(text, before, settings);
    } else {
      write_settings(text, settings);
    }
    before = std::move(settings);
    text += '}';
  }
  text += "]\n}\n";
  return text;
}

}  // namespace perjoule::cli
