#include "cli/pipeline_plan_settings.h"

#include <fmt/format.h>

#include "base/text.h"

namespace perjoule::cli {
namespace {

tl::unexpected<Error> refused(const std::string& path, std::size_t plan, const std::string& why) {
  return Error::invalid_argument(fmt::format("{}: plan {}: {}", path, plan, why),
                                 "it is written by: perjoule pipeline plan --output FILE");
}

std::string stages_of(std::size_t count) { return counted(static_cast<double>(count), "stage"); }

void append_number(std::string& text, std::int64_t value) {
  const fmt::format_int number(value);
  text.append(number.data(), number.size());
}

/// Settings of plans one behind the other.
class SettingsReader {
 public:
  SettingsReader(const SettingsShape& shape, const std::string& path)
      : shape_(shape), path_(path) {}

  /// Plan `number`, read right behind the one before it or with settings in full.
  Outcome take(const Json& plan, std::size_t number) {
    if (const Json* knob = plan.find("knob")) return in_full(*knob, number);
    const Json* const changes = plan.find("changes");
    if (changes == nullptr) return refused(path_, number, "it has no knob");
    if (settings_.empty()) {
      return refused(path_, number, "it has changes, and no plan is before it");
    }
    return change(*changes, number);
  }
  StepSettings settings() && { return std::move(settings_); }

 private:
  Outcome in_full(const Json& knob, std::size_t plan) {
    const Json::Array* const stages = knob.as_array();
    if (stages == nullptr) return refused(path_, plan, "its knob is no list of stages");
    if (stages->size() != shape_.steps.size()) {
      return refused(path_, plan,
                     fmt::format("its knob is not of {}", stages_of(shape_.steps.size())));
    }
    settings_.assign(stages->size(), {});
    for (std::size_t s = 0; s < stages->size(); ++s) {
      const Json::Array* const steps = (*stages)[s].as_array();
      if (steps == nullptr) return refused(path_, plan, "a stage of its knob is no list");
      if (steps->size() != shape_.steps[s]) {
        return refused(path_, plan,
                       fmt::format("stage {} has {} steps in the order, and {} in its knob", s,
                                   shape_.steps[s], steps->size()));
      }
      for (const Json& step : *steps) {
        PJ_TRY(const std::int64_t setting, setting_of(step, plan));
        settings_[s].push_back(setting);
      }
    }
    return {};
  }

  Outcome change(const Json& changes, std::size_t plan) {
    const Json::Array* const stages = changes.as_array();
    if (stages == nullptr || stages->size() != settings_.size()) {
      return refused(path_, plan,
                     fmt::format("its changes are not of {}", stages_of(settings_.size())));
    }
    for (std::size_t s = 0; s < settings_.size(); ++s) {
      const Json::Array* const changed = (*stages)[s].as_array();
      if (changed == nullptr) return refused(path_, plan, "changes of a stage are no list");
      for (const Json& one : *changed) {
        const Json::Array* const pair = one.as_array();
        const bool is_pair = pair != nullptr && pair->size() == 2;
        const auto step = is_pair ? (*pair)[0].as_integer() : std::nullopt;
        if (!step || !(*pair)[1].as_integer()) {
          return refused(path_, plan, "a change is no [step, knob]");
        }
        if (*step < 0 || static_cast<std::size_t>(*step) >= settings_[s].size()) {
          return refused(path_, plan,
                         fmt::format("a change of step {}, and stage {} has {}", *step, s,
                                     settings_[s].size()));
        }
        PJ_TRY(settings_[s][static_cast<std::size_t>(*step)], setting_of((*pair)[1], plan));
      }
    }
    return {};
  }

  Result<std::int64_t> setting_of(const Json& json, std::size_t plan) const {
    const auto setting = json.as_integer();
    if (!setting) return refused(path_, plan, "a knob of a step is no whole number");
    if (*setting >= 0 && static_cast<std::size_t>(*setting) < shape_.knobs) return *setting;
    return refused(path_, plan, fmt::format("knob {}, and there are {}", *setting, shape_.knobs));
  }

  const SettingsShape& shape_;
  const std::string& path_;
  StepSettings settings_;
};

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
                                   const SettingsShape& shape, const std::string& path) {
  // From the last one in full on.
  std::size_t first = number;
  while (first > 0 && plans[first].find("knob") == nullptr) --first;
  SettingsReader reader(shape, path);
  for (std::size_t p = first; p <= number; ++p) PJ_CHECK(reader.take(plans[p], p));
  return std::move(reader).settings();
}

Outcome check_settings(const Json::Array& plans, const SettingsShape& shape,
                       const std::string& path) {
  SettingsReader reader(shape, path);
  for (std::size_t p = 0; p < plans.size(); ++p) PJ_CHECK(reader.take(plans[p], p));
  return {};
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
