#include "cli/train_batch_size_view.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "cli/table.h"
#include "math/statistic.h"

namespace perjoule::cli {
namespace {

Json json_of(const RecurrenceRecord& record, bool reached) {
  Json json = Json::object();
  json["trainings"] = record.trainings;
  json["eta_j"] = record.energy.value();
  json["tta_s"] = record.time.value();
  json["cost_j"] = record.cost.value();
  json["censored"] = !reached;
  return json;
}

/// What a trial's metric is before its first report: nothing, and no 0.
bool reported(const TrialRecord& record) { return record.progress.epochs > 0; }

Json json_of(const TrialRecord& record) {
  Json trial = Json::object();
  trial["trial"] = record.trial.number;
  trial["batch_size"] = record.trial.batch_size;
  trial["state"] = name_of(record.state);
  trial["epochs"] = record.progress.epochs;
  trial["energy_j"] = record.progress.energy.value();
  trial["time_s"] = record.progress.time.value();
  const double metric = record.progress.metric;
  trial["metric"] = reported(record) && std::isfinite(metric) ? Json(metric) : Json();
  trial["cost_j"] = record.cost.value();
  return trial;
}

std::string metric_text(const TrialRecord& record) {
  if (!reported(record)) return "-";
  const double metric = record.progress.metric;
  return std::isfinite(metric) ? fmt::format("{:g}", metric) : "diverged";
}

/// Mean and standard error over the recurrences that reached the target.
template <typename Figure>
Statistic over(const JobStatus& status, const Figure& figure) {
  std::vector<double> values;
  for (const RecurrenceRecord& record : status.recurrences) values.push_back(figure(record));
  return statistic(values);
}

Statistic eta_of(const JobStatus& status) {
  return over(status, [](const RecurrenceRecord& each) { return each.energy.value(); });
}

Statistic tta_of(const JobStatus& status) {
  return over(status, [](const RecurrenceRecord& each) { return each.time.value(); });
}

Json summary(const JobStatus& status, const Statistic& value, const std::string& unit) {
  const bool any = !status.recurrences.empty();
  Json json = Json::object();
  json["mean_" + unit] = any ? Json(value.mean) : Json();
  json["standard_error_" + unit] = any ? Json(value.error) : Json();
  json["count"] = static_cast<std::int64_t>(status.recurrences.size());
  json["censored"] = status.unfinished.trainings > 0 ? 1 : 0;
  return json;
}

}  // namespace

Json json_of(const JobStatus& status) {
  Json json = Json::object();
  json["schema"] = "perjoule.train-status.v1";
  json["job"] = status.definition.name;
  json["recurrences"] = static_cast<std::int64_t>(status.recurrences.size());
  json["energy_j"] = status.energy.value();
  json["time_s"] = status.time.value();
  json["unreported_j"] = status.unreported ? Json(status.unreported->value()) : Json();
  json["lowest_cost_j"] = status.lowest_cost ? Json(status.lowest_cost->value()) : Json();
  json["eta"] = summary(status, eta_of(status), "j");
  json["tta"] = summary(status, tta_of(status), "s");
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

std::string text_of(const JobStatus& status) {
  using Align = Table::Align;
  Table table({{"TRIAL", Align::kRight},
               {"BATCH", Align::kRight},
               {"STATE"},
               {"EPOCHS", Align::kRight},
               {"ENERGY", Align::kRight},
               {"TIME", Align::kRight},
               {"METRIC", Align::kRight},
               {"COST", Align::kRight}});
  for (const TrialRecord& record : status.trials) {
    table.add({std::to_string(record.trial.number), std::to_string(record.trial.batch_size),
               std::string(name_of(record.state)), std::to_string(record.progress.epochs),
               to_text(record.progress.energy, 4), to_text(record.progress.time, 4),
               metric_text(record), to_text(record.cost, 4)});
  }
  std::string text = table.text();
  const auto reached = static_cast<double>(status.recurrences.size());
  text +=
      fmt::format("\n{} reached the target; {} and {} in all, as reported\n",
                  counted(reached, "training"), to_text(status.energy, 4), to_text(status.time, 4));
  if (reached > 0) {
    const Statistic eta = eta_of(status);
    const Statistic tta = tta_of(status);
    text +=
        fmt::format("to the target, mean of {}: ETA {} +- {}, TTA {} +- {} (two standard errors)\n",
                    counted(reached, "recurrence"), to_text(Joules(eta.mean), 4),
                    to_text(Joules(2 * eta.error), 2), to_text(Seconds(tta.mean), 4),
                    to_text(Seconds(2 * tta.error), 2));
  }
  if (status.unfinished.trainings > 0) {
    text += fmt::format(
        "since then {} without reaching it (right-censored): ETA at least {}, TTA at least {}\n",
        counted(status.unfinished.trainings, "training"), to_text(status.unfinished.energy, 4),
        to_text(status.unfinished.time, 4));
  }
  if (status.unreported && status.unreported->value() > 0) {
    text += fmt::format("lost trainings took some {} more that nobody reported (estimated)\n",
                        to_text(*status.unreported, 2));
  }
  return text;
}

}  // namespace perjoule::cli
