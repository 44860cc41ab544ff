#include "cli/fleet_events_view.h"

#include <fmt/format.h>

#include <cmath>

#include "base/energy_json.h"
#include "base/text.h"
#include "cli/fleet_cost_view.h"
#include "cli/fleet_options.h"
#include "cli/table.h"

namespace perjoule::cli {
namespace {

constexpr auto kRight = Table::Align::kRight;

std::string latency(double seconds) {
  return std::isnan(seconds) ? std::string("-") : to_text(Seconds(seconds), 3);
}

double saving(const FleetReport& report, const FleetReport& first) {
  return 1 - report.energy() / first.energy();
}

/// Fewer squashed and late requests may be why a policy draws less.
bool keeps(const FleetEventsView& view, const FleetReport& report) {
  return report.all().attainment() >= view.least_attainment;
}

FleetHourlyCost cost_of(const FleetEventsView& view, const FleetEventsRow& row) {
  FleetHourlyCost cost{row.cost, row.report.duration, {}};
  if (view.gpu_hour_price)
    cost.gpus = *view.gpu_hour_price * row.report.mean_servers * row.report.gpus_per_server;
  return cost;
}

Table policy_table(const FleetEventsView& view, const std::vector<FleetEventsRow>& rows) {
  std::vector<Table::Column> columns = {
      {"POLICY"},           {"ENERGY", kRight},  {"SAVED", kRight},   {"IN TIME", kRight},
      {"IDLE", kRight},     {"CHANGES", kRight}, {"SERVERS", kRight}, {"PEAK", kRight},
      {"TTFT P50", kRight}, {"P99", kRight},     {"TBT P50", kRight}, {"P99", kRight},
      {"W P50", kRight},    {"P99", kRight}};
  add_columns(cost_of(view, rows.front()), columns);
  Table table(std::move(columns));
  for (const FleetEventsRow& row : rows) {
    const FleetReport& report = row.report;
    const ClassTally all = report.all();
    std::vector<std::string> cells = {
        report.policy,
        fmt::format("{:.5g} kWh", in_kilowatt_hours(report.energy())),
        percent(saving(report, rows.front().report), 1) + (keeps(view, report) ? "" : " late"),
        percent(all.attainment(), 2),
        percent(report.idle / report.energy(), 1),
        percent(report.transition / report.energy(), 2),
        fixed(report.mean_servers, 2),
        std::to_string(report.peak_servers),
        latency(all.ttft.percentile(50)),
        latency(all.ttft.percentile(99)),
        latency(all.tbt.percentile(50)),
        latency(all.tbt.percentile(99)),
        to_text(report.power_percentile(50), 3),
        to_text(report.power_percentile(99), 3)};
    add_cells(cost_of(view, row), cells);
    table.add(std::move(cells));
  }
  return table;
}

Table end_table(const std::vector<FleetEventsRow>& rows) {
  Table table({{"POLICY"},
               {"REQUESTS", kRight},
               {"DONE", kRight},
               {"SQUASHED", kRight},
               {"FAILED", kRight},
               {"TO LARGER POOLS", kRight},
               {"MISPREDICTED", kRight},
               {"STEERED", kRight},
               {"MOVED", kRight},
               {"STARTS", kRight},
               {"RESHARDS", kRight},
               {"CLOCKS", kRight}});
  for (const FleetEventsRow& row : rows) {
    const FleetReport& report = row.report;
    const ClassTally all = report.all();
    std::vector<std::string> cells = {report.policy};
    for (const std::uint64_t count :
         {all.arrived, all.done, all.squashed, all.failed, report.spilled, report.mispredicted,
          report.steered, report.moved, report.server_starts, report.reshards,
          report.clock_changes})
      cells.push_back(std::to_string(count));
    table.add(std::move(cells));
  }
  return table;
}

Table class_table(const std::vector<FleetEventsRow>& rows) {
  Table table({{"POLICY"},
               {"CLASS"},
               {"REQUESTS", kRight},
               {"IN TIME", kRight},
               {"TTFT P50", kRight},
               {"P99", kRight},
               {"TBT P50", kRight},
               {"P99", kRight},
               {"TOKENS", kRight}});
  for (const FleetEventsRow& row : rows) {
    for (std::size_t i = 0; i < kLoadClasses; ++i) {
      const ClassTally& one = row.report.classes[i];
      if (one.arrived == 0) continue;
      table.add({row.report.policy, std::string(name_of_class(static_cast<LoadClass>(i))),
                 std::to_string(one.arrived), percent(one.attainment(), 2),
                 latency(one.ttft.percentile(50)), latency(one.ttft.percentile(99)),
                 latency(one.tbt.percentile(50)), latency(one.tbt.percentile(99)),
                 std::to_string(one.output_tokens)});
    }
  }
  return table;
}

Energy energy_of(const FleetReport& report) {
  Energy energy;
  energy.joules = report.energy();
  energy.boundary = Boundary::kDevice;
  energy.status = report.status;
  energy.source = report.origin;
  return energy;
}

Json latencies_json(const LogHistogram& histogram) {
  Json json = Json::object();
  json["mean_s"] = histogram.mean();
  for (const double percent : {50.0, 90.0, 95.0, 99.0})
    json[fmt::format("p{:g}_s", percent)] = histogram.percentile(percent);
  return json;
}

Json tally_json(const ClassTally& tally) {
  Json json = Json::object();
  json["requests"] = tally.arrived;
  json["done"] = tally.done;
  json["squashed"] = tally.squashed;
  json["failed"] = tally.failed;
  json["attainment"] = tally.attainment();
  json["first_token_in_time"] = tally.first_in_time;
  json["gaps_in_time"] = tally.gaps_in_time;
  json["output_tokens"] = tally.output_tokens;
  json["good_output_tokens"] = tally.good_tokens;
  json["ttft"] = latencies_json(tally.ttft);
  json["tbt"] = latencies_json(tally.tbt);
  json["latency"] = latencies_json(tally.latency);
  return json;
}

Json row_json(const FleetEventsView& view, const FleetEventsRow& row, const FleetReport& first) {
  const FleetReport& report = row.report;
  Json json = Json::object();
  json["policy"] = report.policy;
  json["energy"] = to_json(energy_of(report));
  json["energy_kwh"] = in_kilowatt_hours(report.energy());
  json["busy_j"] = report.busy.value();
  json["idle_j"] = report.idle.value();
  json["transition_j"] = report.transition.value();
  json["saving"] = saving(report, first);
  json["keeps_attainment"] = keeps(view, report);
  json["duration_s"] = report.duration.value();
  json["mean_servers"] = report.mean_servers;
  json["peak_servers"] = report.peak_servers;
  json["gpus_per_server"] = report.gpus_per_server;
  json["power_p50_w"] = report.power_percentile(50).value();
  json["power_p99_w"] = report.power_percentile(99).value();
  json["all"] = tally_json(report.all());
  json["classes"] = Json::object();
  for (std::size_t i = 0; i < kLoadClasses; ++i)
    json["classes"][name_of_class(static_cast<LoadClass>(i))] = tally_json(report.classes[i]);
  json["out_of_order"] = report.out_of_order;
  json["to_larger_pools"] = report.spilled;
  json["mispredicted"] = report.mispredicted;
  json["steered"] = report.steered;
  json["moved"] = report.moved;
  json["preemptions"] = report.preemptions;
  json["steps"] = report.steps;
  json["server_starts"] = report.server_starts;
  json["reshards"] = report.reshards;
  json["clock_changes"] = report.clock_changes;
  json["most_live_requests"] = report.most_live;
  add_members(cost_of(view, row), json);
  return json;
}

}  // namespace

std::string fleet_events_text(const FleetEventsView& view,
                              const std::vector<FleetEventsRow>& rows) {
  std::string text = policy_table(view, rows).text() + "\n" + end_table(rows).text() + "\n";
  if (view.by_class) text += class_table(rows).text() + "\n";
  for (const std::string& line : view.load) text += "load: " + line + "\n";
  const FleetReport& first = rows.front().report;
  text += fmt::format(
      "in time: the first token and the mean gap between tokens of a request, as its class is "
      "promised;\nwanted for {}, \"late\" where it is not kept. Energy of GPUs alone (B0), of "
      "servers of {} GPUs;\nthose that are off draw nothing. {}: nobody measured this fleet.\n"
      "engines: {}\n",
      percent(view.least_attainment, 1), first.gpus_per_server,
      first.status == Status::kSimulated ? "Simulated" : "Reconstructed", printable(first.origin));
  for (const FleetEventsRow& row : rows) {
    if (row.report.out_of_order == 0) continue;
    text +=
        fmt::format("note: {} requests stood out of order in the trace\n", row.report.out_of_order);
    break;
  }
  for (const std::string& note : view.notes) text += "note: " + note + "\n";
  return text;
}

Json fleet_events_json(const FleetEventsView& view, const std::vector<FleetEventsRow>& rows) {
  Json json = Json::object();
  json["schema"] = "perjoule.fleet-simulation.v1";
  json["mode"] = "requests";
  json["load"] = json_of_texts(view.load);
  json["least_attainment"] = view.least_attainment;
  json["settings"] = view.settings;
  json["engines"] = Json::array();
  for (const EngineSteps& engine : view.engines) {
    Json one = Json::object();
    one["gpus"] = engine.gpus;
    one["step_tokens"] = engine.step_tokens;
    one["carries_tps"] = engine.carries ? Json(*engine.carries) : Json();
    json["engines"].push_back(std::move(one));
  }
  json["policies"] = Json::array();
  for (const FleetEventsRow& row : rows)
    json["policies"].push_back(row_json(view, row, rows.front().report));
  json["notes"] = json_of_texts(view.notes);
  return json;
}

std::string fleet_timeline_csv(const std::vector<FleetEventsRow>& rows) {
  std::string text = "policy,start_s,duration_s,power_w,servers,prompt_tps,live_requests\n";
  for (const FleetEventsRow& row : rows) {
    for (const FleetBin& bin : row.report.bins) {
      text +=
          fmt::format("{},{},{},{:.3f},{:.4f},{:.3f},{}\n", row.report.policy,
                      exact(bin.start.value()), exact(bin.duration.value()),
                      (bin.energy / bin.duration).value(), bin.servers, bin.prompt_rate, bin.live);
    }
  }
  return text;
}

}  // namespace perjoule::cli
