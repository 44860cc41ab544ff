#include "cli/fleet_control_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "cli/fleet_options.h"
#include "cli/table.h"

namespace perjoule::cli {
namespace {

constexpr const char* kSchema = "perjoule.fleet-control.v1";
constexpr std::array<ServerDeed, 4> kDeeds = {ServerDeed::kStart, ServerDeed::kDrain,
                                              ServerDeed::kStop, ServerDeed::kReshard};

Json document(std::string_view kind, Seconds at) {
  Json json = Json::object();
  json["schema"] = kSchema;
  json["event"] = kind;
  json["at_s"] = at.value();
  return json;
}

std::string estimate_words(const FleetControlView& view) {
  if (view.ready.estimated == 0) return "";
  return fmt::format(
      "estimated: which share of requests is in time, at {} of {}, from the profile's latencies\n",
      view.ready.estimated, counted(static_cast<double>(view.ready.points), "point"));
}

Json json_of(const PoolReasons& why) {
  Json json = Json::object();
  json["load_tps"] = why.load;
  json["recent_peak_tps"] = why.recent_peak;
  json["caution"] = why.caution;
  json["carried_tps"] = why.carried;
  json["expected_tps"] = why.expected ? Json(why.expected->load) : Json();
  json["expected_by"] = why.expected ? Json(name_of(why.expected->basis)) : Json();
  return json;
}

/// What servers are counted from; null where a policy counts none.
Json forecast_json(const FleetControlView& view) {
  if (!view.file.policy.scales_instances) return {};
  Json json = Json::object();
  json["basis"] = name_of(view.history ? ForecastBasis::kHistory : ForecastBasis::kRecent);
  if (view.history == nullptr) return json;
  json["file"] = view.history->load.origin;
  json["repeats_s"] = view.history->repeats.value();
  json["bin_s"] = view.history->bin().value();
  json["length_s"] = view.history->length().value();
  json["begins_unix_s"] = static_cast<double>(view.history->begins_ns) * 1e-9;
  return json;
}

/// The division a server would have otherwise, to show the commands of a reshard: the first
/// instances that are not of the present one.
Division other_division(const FleetServer& server) {
  Division others;
  for (std::size_t i = 0; i < server.instances.size(); ++i) {
    if (std::find(server.division.begin(), server.division.end(), i) == server.division.end())
      others.push_back(i);
  }
  return others;
}

std::vector<std::string> lines_of(const FleetControlView& view, const FleetServer& server,
                                  ServerDeed deed) {
  const Division others = other_division(server);
  if (deed == ServerDeed::kReshard && others.empty()) return {};
  return commands_for(view.file.commands, deed, server, server.division,
                      deed == ServerDeed::kReshard ? others : server.division);
}

std::string names_of(const FleetServer& server) {
  std::string names;
  for (std::size_t i = 0; i < server.instances.size(); ++i) {
    const FleetInstance& one = server.instances[i];
    const bool runs =
        std::find(server.division.begin(), server.division.end(), i) != server.division.end();
    names += fmt::format("{}{} (GPU {}){}", names.empty() ? "" : ", ", one.name,
                         fmt::join(one.gpus, ","), runs ? "" : " at rest");
  }
  return names;
}

}  // namespace

std::string control_heading(const FleetControlView& view) {
  const FleetPolicy& policy = view.file.policy;
  std::string text = fmt::format(
      "{}policy {}: {}{}\n", view.is_dry ? "dry run, nothing is changed\n" : "", policy.name,
      policy.description, policy.has_pools ? "" : "; here all servers are one pool");
  text += fmt::format("looks every {}", to_text(policy.clock_period, 3));
  if (policy.scales_shards)
    text += fmt::format(", shards every {}", to_text(policy.shard_period, 3));
  if (policy.scales_instances)
    text += fmt::format(", servers every {}", to_text(policy.instance_period, 3));
  text += fmt::format("; {} of requests in time, margin {:g}\n",
                      percent(policy.least_attainment, 1), policy.margin);
  for (const FleetServer& server : view.file.servers) {
    text += fmt::format("server {} ({}, {}): {}\n", server.name, server.pool_name,
                        server.is_on ? "on" : "off", names_of(server));
    for (const ServerDeed deed : kDeeds) {
      if (!view.is_dry) break;
      for (const std::string& line : lines_of(view, server, deed))
        text += fmt::format("  to {}: {}\n", name_of(deed), printable(line));
    }
  }
  if (policy.scales_instances && view.history != nullptr) {
    text +=
        "expects the load of " + text_of(*view.history) + "; what comes now where that is more\n";
  }
  text += estimate_words(view);
  text += profile_footer(view.ready.profile);
  for (const std::string& note : view.notes) text += "note: " + note + "\n";
  return text;
}

Json control_heading_json(const FleetControlView& view) {
  const FleetPolicy& policy = view.file.policy;
  Json json = document("begin", Seconds(0));
  json["policy"] = policy.name;
  json["dry_run"] = view.is_dry;
  json["clock_period_s"] = policy.clock_period.value();
  json["shard_period_s"] = policy.scales_shards ? Json(policy.shard_period.value()) : Json();
  json["instance_period_s"] =
      policy.scales_instances ? Json(policy.instance_period.value()) : Json();
  json["attainment"] = policy.least_attainment;
  json["margin"] = policy.margin;
  Json clocks = Json::array();
  for (const double clock : view.clocks_mhz) clocks.push_back(clock);
  json["clocks_mhz"] = std::move(clocks);
  json["idle_gpu_w"] = view.idle_gpu.value();
  json["forecast"] = forecast_json(view);
  json["estimated_points"] = static_cast<std::int64_t>(view.ready.estimated);
  Json servers = Json::array();
  for (const FleetServer& server : view.file.servers) {
    Json one = Json::object();
    one["name"] = server.name;
    one["pool"] = server.pool_name;
    one["on"] = server.is_on;
    Json instances = Json::array();
    for (const FleetInstance& instance : server.instances) instances.push_back(instance.name);
    one["instances"] = std::move(instances);
    Json commands = Json::object();
    for (const ServerDeed deed : kDeeds)
      commands[name_of(deed)] = json_of_texts(lines_of(view, server, deed));
    one["commands"] = std::move(commands);
    servers.push_back(std::move(one));
  }
  json["servers"] = std::move(servers);
  json["origins"] = json_of_texts(origins_of(view.ready.profile));
  json["notes"] = json_of_texts(view.notes);
  return json;
}

std::string event_line(const FleetEvent& event) {
  std::string line = fmt::format("{:>8}  ", to_text(event.at, 4));
  if (event.kind == FleetEvent::Kind::kNote) {
    line += fmt::format("{}: {}", event.subject, event.text);
  } else {
    line += fmt::format("{} {}: {}", name_of(event.kind), event.subject, event.text);
  }
  if (event.result != FleetEvent::Result::kNone) line += fmt::format(": {}", name_of(event.result));
  if (!event.failure.empty()) line += ", " + event.failure;
  if (event.why) {
    line += fmt::format(" (load {:.4g}/s, recent peak {:.4g}/s, caution {:.2f}, carried {:.4g}/s",
                        event.why->load, event.why->recent_peak, event.why->caution,
                        event.why->carried);
    if (event.why->expected) {
      line += fmt::format(", expected {:.4g}/s by {}", event.why->expected->load,
                          name_of(event.why->expected->basis));
    }
    line += ")";
  }
  return printable(std::move(line)) + "\n";
}

Json event_json(const FleetEvent& event) {
  Json json = document(name_of(event.kind), event.at);
  json["subject"] = event.subject;
  json["text"] = event.text;
  json["result"] = event.result == FleetEvent::Result::kNone ? Json() : Json(name_of(event.result));
  json["failure"] = event.failure.empty() ? Json() : Json(event.failure);
  if (event.kind == FleetEvent::Kind::kNote) json["trouble"] = event.is_trouble;
  json["why"] = event.why ? json_of(*event.why) : Json();
  return json;
}

Json period_json(const FleetControlView& view, Seconds now, const FleetLoop& loop) {
  Json json = document("period", now);
  Json pools = Json::array();
  for (std::size_t pool = 0; pool < loop.reasons().size(); ++pool) {
    for (const FleetServer& server : view.file.servers) {
      if (server.pool != pool) continue;
      Json one = json_of(loop.reasons()[pool]);
      one["pool"] = server.pool_name;
      pools.push_back(std::move(one));
      break;
    }
  }
  json["pools"] = std::move(pools);
  return json;
}

void FleetTally::add(const FleetEvent& event) {
  using Kind = FleetEvent::Kind;
  using How = FleetEvent::Result;
  failed_ += event.result == How::kFailed;
  if (event.result != How::kDone && event.result != How::kWould) return;
  clocks_ += event.kind == Kind::kClock;
  starts_ += event.kind == Kind::kStart;
  stops_ += event.kind == Kind::kStop;
  reshards_ += event.kind == Kind::kReshard;
}

std::string FleetTally::text(Seconds duration) const {
  return fmt::format("in {}: {}, {}, {}, {}; {} failed\n", to_text(duration, 3),
                     counted(clocks_, "clock change"), counted(starts_, "start"),
                     counted(stops_, "stop"), counted(reshards_, "reshard"), failed_);
}

Json FleetTally::json(Seconds duration, bool clocks_are_back, int signal) const {
  Json json = document("end", duration);
  json["clock_changes"] = clocks_;
  json["starts"] = starts_;
  json["stops"] = stops_;
  json["reshards"] = reshards_;
  json["failed"] = failed_;
  json["clocks_are_back"] = clocks_are_back;
  json["signal"] = signal == 0 ? Json() : Json(signal);
  return json;
}

}  // namespace perjoule::cli
