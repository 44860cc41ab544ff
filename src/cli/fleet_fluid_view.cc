#include "cli/fleet_fluid_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/energy_json.h"
#include "base/text.h"
#include "cli/fleet_cost_view.h"
#include "cli/fleet_options.h"
#include "cli/table.h"

namespace perjoule::cli {
namespace {

constexpr auto kRight = Table::Align::kRight;

Seconds time_of(const FluidReport& report) {
  Seconds time;
  for (const FluidBin& bin : report.bins) time += bin.duration;
  return time;
}

/// How much of the fleet's energy at all is saved; negative where more is taken.
double saving(const FluidReport& report, const FluidReport& first) {
  return 1 - report.energy.joules / first.energy.joules;
}

double above_joint(const FluidView& view, const FluidReport& report) {
  return report.energy.joules / view.joint - 1;
}

FleetHourlyCost cost_of(const FluidView& view, const FluidRow& row) {
  FleetHourlyCost cost{row.cost, time_of(row.report), {}};
  if (view.gpu_hour_price)
    cost.gpus = *view.gpu_hour_price * row.report.mean_servers * view.fleet.gpus_per_server();
  return cost;
}

/// Who misses tokens may draw less for that alone.
bool misses(const FluidReport& report) { return report.missed_bins > 0; }

Table policy_table(const FluidView& view, const std::vector<FluidRow>& rows) {
  std::vector<Table::Column> columns = {
      {"POLICY"},          {"ENERGY", kRight}, {"SAVED", kRight},  {"ABOVE JOINT", kRight},
      {"SERVERS", kRight}, {"PEAK", kRight},   {"IN TIME", kRight}};
  add_columns(cost_of(view, rows.front()), columns);
  Table table(std::move(columns));
  for (const FluidRow& row : rows) {
    const FluidReport& report = row.report;
    std::vector<std::string> cells = {
        report.policy.name,
        fmt::format("{:.6g} kWh", in_kilowatt_hours(report.energy.joules)),
        percent(saving(report, rows.front().report), 2),
        misses(report) ? "-" : percent(above_joint(view, report), 2),
        fixed(report.mean_servers, 3),
        std::to_string(report.peak_servers),
        percent(report.attainment(), 2)};
    add_cells(cost_of(view, row), cells);
    table.add(std::move(cells));
  }
  return table;
}

std::string choice_text(const ChoiceShare& choice) {
  std::string text = fmt::format("{} {:g} MHz {}", text_of(choice.layout), choice.clock_mhz,
                                 percent(choice.share, 1));
  return choice.load_class.empty() ? text : printable(choice.load_class) + " " + text;
}

Table choice_table(const std::vector<FluidRow>& rows) {
  constexpr std::size_t kShown = 4;
  Table table({{"POLICY"}, {"SERVERS' TIME BY LAYOUT AND CLOCK"}});
  for (const FluidRow& row : rows) {
    std::string text;
    double rest = 1;
    const std::vector<ChoiceShare>& shares = row.report.shares;
    for (std::size_t i = 0; i < std::min(kShown, shares.size()); ++i) {
      text += (i == 0 ? "" : ", ") + choice_text(shares[i]);
      rest -= shares[i].share;
    }
    if (shares.size() > kShown) text += ", others " + percent(rest, 1);
    table.add({row.report.policy.name, text});
  }
  return table;
}

/// Of bins that were not served in time: how many, which, and what is missing.
std::string missed_text(const std::vector<FluidRow>& rows) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (const FluidRow& row : rows) {
    const FluidReport& report = row.report;
    if (!misses(report)) continue;
    std::string which;
    std::size_t shown = 0;
    for (const FluidBin& bin : report.bins) {
      if (!(bin.unserved_tokens > 0) && !(bin.late_tokens > 0)) continue;
      if (shown++ == kShown) break;
      which += fmt::format("{}{:g} s", which.empty() ? "" : ", ", bin.start.value());
    }
    text += fmt::format(
        "{}: {} of {} not served in time (from {}{}): {:.6g} tokens unserved, {:.6g} late; the "
        "energy is of the rest\n",
        report.policy.name, report.missed_bins,
        counted(static_cast<double>(report.bins.size()), "bin"), which,
        report.missed_bins > kShown ? ", ..." : "", report.unserved_tokens, report.late_tokens);
  }
  return text;
}

std::string idle_text(const std::vector<FluidRow>& rows) {
  std::string text;
  for (const FluidRow& row : rows) {
    const FluidReport& report = row.report;
    if (!report.idle) continue;
    text += fmt::format("{}: {} of its energy would be drawn without load\n", report.policy.name,
                        percent(*report.idle / report.energy.joules, 1));
  }
  if (text.empty())
    text = "busy and idle energy cannot be told apart: the profile has no point at load 0\n";
  return text;
}

const FluidReport* find_report(const std::vector<FluidRow>& rows, std::string_view policy) {
  for (const FluidRow& row : rows) {
    if (row.report.policy.name == policy && !misses(row.report)) return &row.report;
  }
  return nullptr;
}

/// What it costs to decide on servers before clocks, and how much of that is the clock they are
/// counted at.
std::string hierarchy_text(const FluidView& view, const std::vector<FluidRow>& rows) {
  const FluidReport* highest = find_report(rows, "scale-inst-freq");
  const FluidReport* run_clock = find_report(rows, "scale-inst-run-clock");
  if (highest == nullptr || run_clock == nullptr) return {};
  return fmt::format(
      "servers first, then clocks: {} above the joint choice where servers are counted at the "
      "highest clock,\n{} where at the clock they run at\n",
      percent(above_joint(view, *highest), 2), percent(above_joint(view, *run_clock), 2));
}

Json share_json(const ChoiceShare& choice) {
  Json json = Json::object();
  json["class"] = choice.load_class;
  json["tp"] = choice.layout.tensor_parallel;
  json["pp"] = choice.layout.pipeline_parallel;
  json["clock_mhz"] = choice.clock_mhz;
  json["share"] = choice.share;
  return json;
}

Json bins_json(const FluidReport& report, bool all) {
  Json json = Json::array();
  for (const FluidBin& bin : report.bins) {
    if (!all && !(bin.unserved_tokens > 0) && !(bin.late_tokens > 0)) continue;
    Json one = Json::object();
    one["start_s"] = bin.start.value();
    one["duration_s"] = bin.duration.value();
    one["servers"] = bin.servers;
    one["power_w"] = bin.power.value();
    one["unserved_tokens"] = bin.unserved_tokens;
    one["late_tokens"] = bin.late_tokens;
    json.push_back(std::move(one));
  }
  return json;
}

Json row_json(const FluidView& view, const FluidRow& row, const FluidReport& first, bool bins) {
  const FluidReport& report = row.report;
  Json json = Json::object();
  json["policy"] = report.policy.name;
  json["energy"] = to_json(report.energy);
  json["energy_kwh"] = in_kilowatt_hours(report.energy.joules);
  json["idle_j"] = report.idle ? Json(report.idle->value()) : Json();
  json["saving"] = saving(report, first);
  json["above_joint"] = misses(report) ? Json() : Json(above_joint(view, report));
  json["mean_servers"] = report.mean_servers;
  json["peak_servers"] = report.peak_servers;
  json["attainment"] = report.attainment();
  json["tokens"] = report.tokens;
  json["unserved_tokens"] = report.unserved_tokens;
  json["late_tokens"] = report.late_tokens;
  json["missed_bins"] = bins_json(report, false);
  add_members(cost_of(view, row), json);
  json["choices"] = Json::array();
  for (const ChoiceShare& choice : report.shares) json["choices"].push_back(share_json(choice));
  if (bins) json["bins"] = bins_json(report, true);
  return json;
}

}  // namespace

std::string fluid_text(const FluidView& view, const std::vector<FluidRow>& rows) {
  double mean = 0;
  double peak = 0;
  for (std::size_t i = 0; i < view.load.classes.size(); ++i) {
    mean += extent_of(view.load, i).mean;
    peak = std::max(peak, extent_of(view.load, i).peak);
  }
  const std::string epoch = view.options.epoch.value() > 0 ? "for " + to_text(view.options.epoch)
                                                           : std::string("for a bin");
  const int count = view.fleet.gpus_per_server();
  const std::string gpus = count == 1 ? "1 GPU" : fmt::format("{} GPUs", count);
  std::string text = policy_table(view, rows).text() + "\n" + choice_table(rows).text() + "\n";
  text += hierarchy_text(view, rows) + missed_text(rows) + idle_text(rows);
  text += fmt::format(
      "load: {}, {} of {}, prompt tokens/s {:.6g} in the mean, {:.6g} at the peak{}\n"
      "{}; servers of {} stay {}; those that are off draw nothing,\nthe load is known, changes "
      "cost "
      "nothing. Reconstructed: nobody measured this fleet.\n",
      printable(view.load.origin), counted(static_cast<double>(view.load.bins.size()), "bin"),
      to_text(view.load.bins.front().duration), mean, peak,
      view.load.classes.size() > 1 ? " of a class" : "", text_of(view.options.target), gpus, epoch);
  for (const std::string& note : view.fleet.notes()) text += "note: " + printable(note) + "\n";
  return text + profile_footer(view.profile);
}

Json fluid_json(const FluidView& view, const std::vector<FluidRow>& rows, bool bins) {
  Json json = Json::object();
  json["schema"] = "perjoule.fleet-simulation.v1";
  json["mode"] = "fluid";
  Json load = Json::object();
  load["origin"] = view.load.origin;
  load["bins"] = static_cast<std::int64_t>(view.load.bins.size());
  load["classes"] = Json::array();
  for (std::size_t i = 0; i < view.load.classes.size(); ++i) {
    const LoadExtent extent = extent_of(view.load, i);
    Json one = Json::object();
    one["class"] = view.load.classes[i];
    one["mean_tps"] = extent.mean;
    one["peak_tps"] = extent.peak;
    one["tokens"] = extent.tokens;
    load["classes"].push_back(std::move(one));
  }
  json["load"] = std::move(load);
  json["target"] = json_of(view.options.target);
  json["epoch_s"] = view.options.epoch.value();
  json["most_servers"] = view.fleet.most_servers();
  json["gpus_per_server"] = view.fleet.gpus_per_server();
  json["origins"] = json_of_texts(origins_of(view.profile));
  json["policies"] = Json::array();
  for (const FluidRow& row : rows)
    json["policies"].push_back(row_json(view, row, rows.front().report, bins));
  std::vector<std::string> notes = view.profile.notes;
  for (const std::string& note : view.fleet.notes()) notes.push_back(note);
  json["notes"] = json_of_texts(notes);
  return json;
}

}  // namespace perjoule::cli
