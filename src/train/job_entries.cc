#include "train/job_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace perjoule {
namespace {

constexpr std::array<std::string_view, 6> kStates = {"running",   "reached", "stopped",
                                                     "abandoned", "lost",    "diverged"};

void add_stamp(Json& json, const Stamp& at) {
  json["unix_ns"] = at.unix_ns;
  if (at.boot.empty()) return;
  json["boot"] = at.boot;
  json["boot_ns"] = at.boot_ns;
}

}  // namespace

std::string_view name_of(TrialState state) { return kStates[static_cast<std::size_t>(state)]; }

std::string_view name_of(Verdict verdict) {
  constexpr std::array<std::string_view, 3> kNames = {"continue", "reached", "stop"};
  return kNames[static_cast<std::size_t>(verdict)];
}

Json entry_of(const JobDefinition& definition) {
  Json json = Json::object();
  json["event"] = "created";
  json["name"] = definition.name;
  Json sizes = Json::array();
  for (const int size : definition.spec.batch_sizes) sizes.push_back(size);
  json["batch_sizes"] = std::move(sizes);
  json["default_batch"] = definition.spec.default_batch;
  // JSON has no infinity: no bound is null.
  json["beta"] = std::isfinite(definition.spec.beta) ? Json(definition.spec.beta) : Json();
  json["window"] = definition.spec.window;
  json["eta"] = definition.eta;
  json["max_power_w"] = definition.max_power.value();
  json["target"] = definition.target;
  json["higher_is_better"] = definition.higher_is_better;
  json["most_epochs"] = definition.most_epochs;
  json["policy"] = definition.policy;
  json["seed"] = static_cast<std::int64_t>(definition.seed);
  json["timeout_s"] = definition.timeout.value();
  // Left out where nothing was said, so that definitions of before they were known stay the same.
  const CostPrior& prior = definition.spec.prior;
  if (prior.noise) json["noise_j"] = prior.noise->value();
  if (prior.deviation) {
    json["prior_cost_j"] = prior.mean.value();
    json["prior_deviation_j"] = prior.deviation->value();
  }
  return json;
}

Json entry_of(const Trial& trial, const Stamp& at) {
  Json json = Json::object();
  json["event"] = "asked";
  json["trial"] = trial.number;
  json["batch_size"] = trial.batch_size;
  add_stamp(json, at);
  return json;
}

Json entry_of(std::int64_t trial, const TrialProgress& progress, const Stamp& at) {
  Json json = Json::object();
  json["event"] = "epoch";
  json["trial"] = trial;
  json["epochs"] = progress.epochs;
  json["energy_j"] = progress.energy.value();
  json["time_s"] = progress.time.value();
  // JSON has no NaN: a metric that diverged is null.
  json["metric"] = std::isfinite(progress.metric) ? Json(progress.metric) : Json();
  add_stamp(json, at);
  return json;
}

Json ending_of(std::int64_t trial, TrialState state, const Stamp& at) {
  Json json = Json::object();
  json["event"] = "ended";
  json["trial"] = trial;
  json["state"] = name_of(state);
  add_stamp(json, at);
  return json;
}

Result<JobDefinition> definition_of(const Json& entry) {
  JobDefinition definition;
  definition.name = entry.string("name").value_or("");
  const Json* sizes = entry.find("batch_sizes");
  if (sizes == nullptr || sizes->as_array() == nullptr)
    return Error::data_loss("no batch sizes in the definition");
  for (const Json& size : *sizes->as_array())
    definition.spec.batch_sizes.push_back(static_cast<int>(size.as_integer().value_or(0)));
  PJ_TRY(const double usual, number_of(entry, "default_batch"));
  definition.spec.default_batch = static_cast<int>(usual);
  definition.spec.beta = entry.number("beta").value_or(INFINITY);
  PJ_TRY(const double window, number_of(entry, "window"));
  definition.spec.window = static_cast<int>(window);
  PJ_TRY(definition.eta, number_of(entry, "eta"));
  PJ_TRY(const double max_power, number_of(entry, "max_power_w"));
  definition.max_power = Watts(max_power);
  PJ_TRY(definition.target, number_of(entry, "target"));
  const Json* higher = entry.find("higher_is_better");
  definition.higher_is_better = higher == nullptr || higher->as_bool().value_or(true);
  PJ_TRY(const double most, number_of(entry, "most_epochs"));
  definition.most_epochs = static_cast<int>(most);
  definition.policy = entry.string("policy").value_or("");
  definition.seed = static_cast<std::uint64_t>(entry.integer("seed").value_or(1));
  PJ_TRY(const double timeout, number_of(entry, "timeout_s"));
  definition.timeout = Seconds(timeout);
  if (const auto noise = entry.number("noise_j")) definition.spec.prior.noise = Joules(*noise);
  if (const auto deviation = entry.number("prior_deviation_j")) {
    definition.spec.prior.deviation = Joules(*deviation);
    definition.spec.prior.mean = Joules(entry.number("prior_cost_j").value_or(0));
  }
  return definition;
}

Result<TrialProgress> progress_of(const Json& entry) {
  TrialProgress progress;
  PJ_TRY(const double epochs, number_of(entry, "epochs"));
  PJ_TRY(const double energy, number_of(entry, "energy_j"));
  PJ_TRY(const double time, number_of(entry, "time_s"));
  progress.epochs = static_cast<int>(epochs);
  progress.energy = Joules(energy);
  progress.time = Seconds(time);
  progress.metric = entry.number("metric").value_or(NAN);
  return progress;
}

Result<TrialState> state_of(const Json& entry) {
  const std::string word = entry.string("state").value_or("");
  const auto at = std::find(kStates.begin(), kStates.end(), word);
  if (at == kStates.end()) return Error::data_loss("not a state: '" + word + "'");
  return static_cast<TrialState>(at - kStates.begin());
}

Result<double> number_of(const Json& entry, std::string_view name) {
  if (const auto number = entry.number(name)) return *number;
  return Error::data_loss(fmt::format("no number '{}'", name));
}

Stamp stamp_of(const Json& entry) {
  return {entry.integer("unix_ns").value_or(0), entry.string("boot").value_or(""),
          entry.integer("boot_ns").value_or(0)};
}

}  // namespace perjoule
