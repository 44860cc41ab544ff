#include "cli/power_limit_report.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "cli/frontier_view.h"
#include "cli/table.h"

namespace perjoule::cli {
namespace {

Json period_json(const ActivityPeriod& period) {
  Json json = Json::object();
  json["power_limit_w"] = period.limit.value();
  json["period_s"] = period.period.value();
  json["expanded_s"] = 2 * period.sigma.value();
  json["regularity"] = period.regularity;
  return json;
}

Json error_json(const Error& error) {
  Json json = Json::object();
  json["code"] = name_of(error.code);
  json["message"] = error.message;
  json["remedy"] = error.remedy;
  return json;
}

void tell_of_no_choice(const PowerLimitAnswer& answer) {
  const std::string measured =
      fmt::format("{} counted, {} measured", counted(std::floor(answer.steps), answer.unit),
                  counted(static_cast<double>(answer.points.size()), "limit"));
  if (answer.failure) {
    complain(fmt::format("no choice ({}): {}", measured, answer.failure->text()));
    return;
  }
  const bool activity = answer.unit != "step";
  if (activity && answer.steps == 0) {
    complain(
        fmt::format("no rhythm was found in the power of the GPUs ({}): every limit was left as it "
                    "was; count steps with --unit-pattern or PERJOULE_UNIT_FD",
                    answer.no_rhythm));
    return;
  }
  complain(
      fmt::format("the command ended before all limits were measured ({}): no choice", measured));
  if (answer.steps == 0)
    complain("no step was counted: give --unit-pattern, or write to PERJOULE_UNIT_FD");
}

FrontierView view_of(const Frontier& frontier, const PowerLimitAnswer& answer) {
  FrontierView view{frontier, *answer.choice};
  view.unit = answer.unit;
  view.all = true;
  return view;
}

}  // namespace

Json power_limit_json(const PowerLimitAnswer& answer) {
  Json json = Json::object();
  json["schema"] = "perjoule.train-power-limit.v1";
  json["rule"] = text_of(answer.rule);
  json["max_power_w"] = answer.max_power.value();
  if (answer.recorded) json["recorded"] = *answer.recorded;
  json["settled"] = answer.settled();
  if (answer.failure) json["error"] = error_json(*answer.failure);
  json["repeats"] = answer.repeats;
  json["stalls"] = answer.stalls;
  Json notes = Json::array();
  for (const std::string& note : answer.notes) notes.push_back(note);
  json["notes"] = std::move(notes);
  json["steps"] = answer.steps;
  json["steps_are"] = answer.recorded         ? "recorded"
                      : answer.unit == "step" ? "reported"
                                              : "activity";
  if (!answer.periods.empty()) {
    Json periods = Json::array();
    for (const ActivityPeriod& period : answer.periods) periods.push_back(period_json(period));
    json["periods"] = std::move(periods);
  }
  if (!answer.recorded) json["exit_status"] = answer.exit_status;
  if (answer.per_gpu) {
    Json limits = Json::array();
    for (const auto& [device, limit] : answer.chosen) {
      Json one = Json::object();
      one["gpu"] = device;
      one["power_limit_w"] = limit.value();
      limits.push_back(std::move(one));
    }
    json["per_gpu"] = std::move(limits);
  }
  if (answer.settled()) {
    const auto frontier = Frontier::make(answer.points);
    json["result"] = frontier_json(view_of(*frontier, answer));
  }
  return json;
}

void show_power_limit(const PowerLimitAnswer& answer) {
  for (const std::string& note : answer.notes) complain("note: " + note);
  if (answer.stalls > 0)
    complain(
        fmt::format("note: {} left out: steps as long as with a validation or a checkpoint; "
                    "--stall 0 counts them",
                    counted(answer.stalls, "stall")));
  if (answer.repeats > 0)
    complain(
        fmt::format("the workload changed: measured again {}", counted(answer.repeats, "time")));
  if (!answer.settled()) return tell_of_no_choice(answer);
  const auto frontier = Frontier::make(answer.points);
  print(frontier_text(view_of(*frontier, answer)));
  for (const auto& [device, limit] : answer.chosen)
    print(fmt::format("  {}: {:g} W\n", device, limit.value()));
}

}  // namespace perjoule::cli
