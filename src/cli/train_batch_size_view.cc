#include "cli/train_batch_size_view.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/table.h"

namespace perjoule::cli {
namespace {

double figure(const Json& json, std::string_view name) { return json.number(name).value_or(0); }

Json member(const Json& json, std::string_view name) {
  const Json* const found = json.find(name);
  return found == nullptr ? Json() : *found;
}

Json::Array items(const Json& json, std::string_view name) {
  const Json found = member(json, name);
  return found.is_array() ? *found.as_array() : Json::Array();
}

std::string metric_text(const Json& trial) {
  if (figure(trial, "epochs") <= 0) return "-";
  const auto metric = trial.number("metric");
  return metric ? fmt::format("{:g}", *metric) : "diverged";
}

std::string trials_text(const Json& status) {
  using Align = Table::Align;
  Table table({{"TRIAL", Align::kRight},
               {"BATCH", Align::kRight},
               {"STATE"},
               {"EPOCHS", Align::kRight},
               {"ENERGY", Align::kRight},
               {"TIME", Align::kRight},
               {"METRIC", Align::kRight},
               {"COST", Align::kRight}});
  for (const Json& trial : items(status, "trials")) {
    table.add({exact(figure(trial, "trial")), exact(figure(trial, "batch_size")),
               trial.string("state").value_or(""), exact(figure(trial, "epochs")),
               to_text(Joules(figure(trial, "energy_j")), 4),
               to_text(Seconds(figure(trial, "time_s")), 4), metric_text(trial),
               to_text(Joules(figure(trial, "cost_j")), 4)});
  }
  return table.text();
}

}  // namespace

std::string text_of_job_status(const Json& status) {
  std::string text = trials_text(status);
  const double reached = figure(status, "recurrences");
  text += fmt::format("\n{} reached the target; {} and {} in all, as reported\n",
                      counted(reached, "training"), to_text(Joules(figure(status, "energy_j")), 4),
                      to_text(Seconds(figure(status, "time_s")), 4));
  if (reached > 0) {
    const Json eta = member(status, "eta");
    const Json tta = member(status, "tta");
    text +=
        fmt::format("to the target, mean of {}: ETA {} +- {}, TTA {} +- {} (two standard errors)\n",
                    counted(reached, "recurrence"), to_text(Joules(figure(eta, "mean_j")), 4),
                    to_text(Joules(2 * figure(eta, "standard_error_j")), 2),
                    to_text(Seconds(figure(tta, "mean_s")), 4),
                    to_text(Seconds(2 * figure(tta, "standard_error_s")), 2));
  }
  for (const Json& result : items(status, "results")) {
    if (!member(result, "censored").as_bool().value_or(false)) continue;
    text += fmt::format(
        "since then {} without reaching it (right-censored): ETA at least {}, TTA at least {}\n",
        counted(figure(result, "trainings"), "training"),
        to_text(Joules(figure(result, "eta_j")), 4), to_text(Seconds(figure(result, "tta_s")), 4));
  }
  if (figure(status, "unreported_j") > 0) {
    text += fmt::format("lost trainings took some {} more that nobody reported (estimated)\n",
                        to_text(Joules(figure(status, "unreported_j")), 2));
  }
  return text;
}

}  // namespace perjoule::cli
