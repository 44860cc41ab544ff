#include "cli/pipeline_plan_settings.h"

#include <fmt/format.h>

namespace perjoule::cli {
namespace {

tl::unexpected<Error> refused(const std::string& path, std::size_t plan, const std::string& why) {
  return Error::invalid_argument(fmt::format("{}: plan {}: {}", path, plan, why),
                                 "it is written by: perjoule pipeline plan --output FILE");
}

void append_number(std::string& text, std::int64_t value) {
  const fmt::format_int number(value);
  text.append(number.data(), number.size());
}

Result<StepSettings> in_full(const Json& knob, std::size_t plan, const std::string& path) {
  const Json::Array* const stages = knob.as_array();
  if (stages == nullptr) return refused(path, plan, "its knob is no list of stages");
  StepSettings settings;
  for (const Json& stage : *stages) {
    const Json::Array* const steps = stage.as_array();
    if (steps == nullptr) return refused(path, plan, "a stage of its knob is no list");
    settings.emplace_back();
    for (const Json& step : *steps) {
      const auto setting = step.as_integer();
      if (!setting) return refused(path, plan, "a knob of a step is no whole number");
      settings.back().push_back(*setting);
    }
  }
  return settings;
}

Outcome change(StepSettings& settings, const Json& changes, std::size_t plan,
               const std::string& path) {
  const Json::Array* const stages = changes.as_array();
  if (stages == nullptr || stages->size() != settings.size()) {
    return refused(path, plan, fmt::format("its changes are not of {} stages", settings.size()));
  }
  for (std::size_t s = 0; s < settings.size(); ++s) {
    const Json::Array* const changed = (*stages)[s].as_array();
    if (changed == nullptr) return refused(path, plan, "changes of a stage are no list");
    for (const Json& one : *changed) {
      const Json::Array* const pair = one.as_array();
      const bool is_pair = pair != nullptr && pair->size() == 2;
      const auto step = is_pair ? (*pair)[0].as_integer() : std::nullopt;
      const auto setting = is_pair ? (*pair)[1].as_integer() : std::nullopt;
      if (!step || !setting) return refused(path, plan, "a change is no [step, knob]");
      if (*step < 0 || static_cast<std::size_t>(*step) >= settings[s].size()) {
        return refused(
            path, plan,
            fmt::format("a change of step {}, and stage {} has {}", *step, s, settings[s].size()));
      }
      settings[s][static_cast<std::size_t>(*step)] = *setting;
    }
  }
  return {};
}

}  // namespace

StepSettings settings_of(const PipelineProblem& problem, const PipelinePlan& plan) {
  const std::vector<std::uint32_t> option = measured_options(problem, plan);
  const PipelineSchedule& schedule = problem.schedule();
  StepSettings settings(schedule.stages.size());
  for (std::size_t s = 0; s < settings.size(); ++s) {
    for (std::size_t i = 0; i < schedule.stages[s].size(); ++i) {
      const std::uint32_t a = schedule.number(s, i);
      settings[s].push_back(problem.knob_of(a, option[a]));
    }
  }
  return settings;
}

void write_settings(std::string& text, const StepSettings& settings) {
  text += "\"knob\":[";
  for (std::size_t s = 0; s < settings.size(); ++s) {
    text += s > 0 ? ",[" : "[";
    for (std::size_t i = 0; i < settings[s].size(); ++i) {
      if (i > 0) text += ',';
      append_number(text, settings[s][i]);
    }
    text += ']';
  }
  text += ']';
}

void write_changes(std::string& text, const StepSettings& before, const StepSettings& settings) {
  text += "\"changes\":[";
  for (std::size_t s = 0; s < settings.size(); ++s) {
    text += s > 0 ? ",[" : "[";
    bool first = true;
    for (std::size_t i = 0; i < settings[s].size(); ++i) {
      if (settings[s][i] == before[s][i]) continue;
      text += first ? "[" : ",[";
      first = false;
      append_number(text, static_cast<std::int64_t>(i));
      text += ',';
      append_number(text, settings[s][i]);
      text += ']';
    }
    text += ']';
  }
  text += ']';
}

Result<StepSettings> read_settings(const Json::Array& plans, std::size_t number,
                                   const std::string& path) {
  // From the last one in full on.
  std::size_t first = number;
  while (plans[first].find("knob") == nullptr) {
    if (plans[first].find("changes") == nullptr) return refused(path, first, "it has no knob");
    if (first == 0) return refused(path, 0, "it has changes, and no plan is before it");
    --first;
  }
  PJ_TRY(StepSettings settings, in_full(*plans[first].find("knob"), first, path));
  for (std::size_t p = first + 1; p <= number; ++p) {
    PJ_CHECK(change(settings, *plans[p].find("changes"), p, path));
  }
  return settings;
}

Json json_of(const StepSettings& settings) {
  Json::Array stages;
  for (const std::vector<std::int64_t>& steps : settings) {
    Json::Array numbers;
    for (const std::int64_t setting : steps) numbers.emplace_back(setting);
    stages.emplace_back(std::move(numbers));
  }
  return Json(std::move(stages));
}

}  // namespace perjoule::cli
