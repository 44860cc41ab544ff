#include "train/job_documents.h"

#include <algorithm>
#include <cmath>

#include "math/statistic.h"
#include "train/job_entries.h"

namespace perjoule {
namespace {

constexpr std::int64_t kMostCount = 1'000'000'000;

Json about(const char* schema, const std::string& job) {
  Json json = Json::object();
  json["schema"] = schema;
  json["job"] = job;
  return json;
}

Json json_of(const RecurrenceRecord& record, bool reached) {
  Json json = Json::object();
  json["trainings"] = record.trainings;
  json["eta_j"] = record.energy.value();
  json["tta_s"] = record.time.value();
  json["cost_j"] = record.cost.value();
  json["censored"] = !reached;
  return json;
}

Json json_of(const TrialRecord& record) {
  Json trial = Json::object();
  trial["trial"] = record.trial.number;
  trial["batch_size"] = record.trial.batch_size;
  trial["state"] = name_of(record.state);
  trial["epochs"] = record.progress.epochs;
  trial["energy_j"] = record.progress.energy.value();
  trial["time_s"] = record.progress.time.value();
  // Before its first report it has no metric, which is not 0.
  const bool reported = record.progress.epochs > 0;
  const double metric = record.progress.metric;
  trial["metric"] = reported && std::isfinite(metric) ? Json(metric) : Json();
  trial["cost_j"] = record.cost.value();
  return trial;
}

/// Mean and standard error over the recurrences that reached the target.
template <typename Figure>
Json summary(const JobStatus& status, const std::string& unit, const Figure& figure) {
  std::vector<double> values;
  for (const RecurrenceRecord& record : status.recurrences) values.push_back(figure(record));
  const Statistic value = statistic(values);
  Json json = Json::object();
  json["mean_" + unit] = values.empty() ? Json() : Json(value.mean);
  json["standard_error_" + unit] = values.empty() ? Json() : Json(value.error);
  json["count"] = static_cast<std::int64_t>(values.size());
  json["censored"] = status.unfinished.trainings > 0 ? 1 : 0;
  return json;
}

bool is_count(const Json& value) {
  const auto count = value.as_integer();
  return count && *count >= 0 && *count <= kMostCount;
}

/// Whether a member can stand where `usual` does.
bool is_of_kind(const std::string& name, const Json& usual, const Json& value) {
  if (name == "batch_sizes") {
    const Json::Array* const sizes = value.as_array();
    return sizes != nullptr && std::all_of(sizes->begin(), sizes->end(), is_count);
  }
  if (name == "beta" && value.is_null()) return true;
  if (usual.is_bool()) return value.is_bool();
  if (usual.is_string()) return value.is_string();
  return usual.is_integer() ? is_count(value) : value.is_number();
}

Result<std::int64_t> count_in(const Json& document, std::string_view name) {
  const Json* const member = document.find(name);
  if (member != nullptr && is_count(*member)) return *member->as_integer();
  return Error::invalid_argument("\"" + std::string(name) + "\" is missing, or no count");
}

Result<double> figure_in(const Json& document, std::string_view name) {
  if (const auto number = document.number(name)) return *number;
  return Error::invalid_argument("\"" + std::string(name) + "\" is missing, or no number");
}

Outcome check_members(const Json& document, std::initializer_list<std::string_view> known) {
  if (!document.is_object()) return Error::invalid_argument("a report is a JSON object");
  for (const auto& [name, value] : *document.as_object()) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      return Error::invalid_argument("a report has no member \"" + name + "\"");
  }
  return {};
}

}  // namespace

Json job_document(const std::string& job) { return about("perjoule.train-job.v1", job); }

Json jobs_document(const std::vector<std::string>& jobs) {
  Json json = Json::object();
  json["schema"] = "perjoule.train-jobs.v1";
  json["jobs"] = Json::array();
  for (const std::string& job : jobs) json["jobs"].push_back(job);
  return json;
}

Json trial_document(const std::string& job, const Trial& trial) {
  Json json = about("perjoule.train-trial.v1", job);
  json["trial"] = trial.number;
  if (trial.batch_size > 0) json["batch_size"] = trial.batch_size;
  return json;
}

Json verdict_document(const std::string& job, std::int64_t trial, Verdict verdict) {
  Json json = about("perjoule.train-verdict.v1", job);
  json["trial"] = trial;
  json["verdict"] = name_of(verdict);
  return json;
}

Json status_document(const JobStatus& status) {
  Json json = about("perjoule.train-status.v1", status.definition.name);
  json["recurrences"] = static_cast<std::int64_t>(status.recurrences.size());
  json["energy_j"] = status.energy.value();
  json["time_s"] = status.time.value();
  json["unreported_j"] = status.unreported ? Json(status.unreported->value()) : Json();
  json["lowest_cost_j"] = status.lowest_cost ? Json(status.lowest_cost->value()) : Json();
  json["eta"] = summary(status, "j", [](const auto& each) { return each.energy.value(); });
  json["tta"] = summary(status, "s", [](const auto& each) { return each.time.value(); });
  Json results = Json::array();
  for (const RecurrenceRecord& record : status.recurrences)
    results.push_back(json_of(record, true));
  if (status.unfinished.trainings > 0) results.push_back(json_of(status.unfinished, false));
  json["results"] = std::move(results);
  Json trials = Json::array();
  for (const TrialRecord& record : status.trials) trials.push_back(json_of(record));
  json["trials"] = std::move(trials);
  return json;
}

Json definition_document(const JobDefinition& definition) {
  Json::Object members;
  const Json entry = entry_of(definition);
  for (const Json::Member& member : *entry.as_object()) {
    if (member.first != "event" && member.first != "name") members.push_back(member);
  }
  return Json::of(std::move(members));
}

Result<JobDefinition> read_definition(const std::string& job, const Json& document) {
  if (!document.is_object()) return Error::invalid_argument("a definition is a JSON object");
  JobDefinition usual;
  usual.name = job;
  usual.spec.prior = {.noise = Joules(0), .mean = Joules(0), .deviation = Joules(0)};
  const Json known = definition_document(usual);
  // What of it is left out unless it is given.
  usual.spec.prior = {};
  Json entry = entry_of(usual);
  for (const auto& [name, value] : *document.as_object()) {
    const Json* const expected = known.find(name);
    if (expected == nullptr)
      return Error::invalid_argument("a job's definition has no member \"" + name + "\"");
    if (!is_of_kind(name, *expected, value))
      return Error::invalid_argument("\"" + name + "\" cannot be " + value.dump());
    entry[name] = value;
  }
  for (const char* const name : {"batch_sizes", "default_batch", "target", "max_power_w"}) {
    if (document.find(name) == nullptr)
      return Error::invalid_argument("\"" + std::string(name) + "\" is missing");
  }
  if ((document.find("prior_cost_j") == nullptr) != (document.find("prior_deviation_j") == nullptr))
    return Error::invalid_argument("\"prior_cost_j\" and \"prior_deviation_j\" go together");
  PJ_TRY(JobDefinition definition, definition_of(entry));
  std::sort(definition.spec.batch_sizes.begin(), definition.spec.batch_sizes.end());
  return definition;
}

Json report_document(const TrialReport& report) {
  Json json = Json::object();
  json["trial"] = report.trial;
  json["epochs"] = report.progress.epochs;
  json["energy_j"] = report.progress.energy.value();
  json["time_s"] = report.progress.time.value();
  const double metric = report.progress.metric;
  json["metric"] = std::isfinite(metric) ? Json(metric) : Json();
  return json;
}

Result<TrialReport> read_report(const Json& document) {
  PJ_CHECK(check_members(document, {"trial", "epochs", "energy_j", "time_s", "metric"}));
  TrialReport report;
  PJ_TRY(report.trial, count_in(document, "trial"));
  PJ_TRY(const std::int64_t epochs, count_in(document, "epochs"));
  report.progress.epochs = static_cast<int>(epochs);
  PJ_TRY(const double joules, figure_in(document, "energy_j"));
  report.progress.energy = Joules(joules);
  PJ_TRY(const double seconds, figure_in(document, "time_s"));
  report.progress.time = Seconds(seconds);
  const Json* const metric = document.find("metric");
  report.progress.metric = NAN;
  if (metric == nullptr || !metric->is_null()) {
    PJ_TRY(report.progress.metric, figure_in(document, "metric"));
  }
  return report;
}

Result<std::int64_t> read_trial(const Json& document) {
  PJ_CHECK(check_members(document, {"trial"}));
  return count_in(document, "trial");
}

}  // namespace perjoule
