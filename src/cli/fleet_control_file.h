// The file of a fleet that is to be controlled.
//
//   [fleet]
//   policy = "scale-freq"               # of perjoule fleet simulate --help
//   profile = "llama70b.csv"            # a serving profile, or a list; from this file's folder
//   levels = { ttft = "2s", tbt = "100ms" }
//   history = "week.csv"                # the load of other days, of policies that count servers
//
//   [hooks]                             # of policies that start, stop or divide servers
//   preset = "systemd"
//
//   [[server]]
//   name = "n1"
//   pool = "mixed"                      # or a class: "MM"
//
//   [[server.instance]]
//   url = "http://n1:8000/metrics"
//   gpus = ["0", "1"]
//   tp = 2
//
// docs/formats.md has all keys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "cli/fleet_control_history.h"
#include "fleet/control/fleet_policy.h"
#include "fleet/hands/fleet_layout.h"
#include "fleet/hands/server_commands.h"
#include "fleet/profile/serving_profile.h"
#include "fleet/traffic/load_class.h"
#include "net/http_url.h"

namespace perjoule::cli {

/// Where an instance's metrics are.
struct InstanceSource {
  HttpUrl url;
  std::string series;  ///< the value of the label by which a Prometheus server knows it
};

struct FleetControlFile {
  FleetPolicy policy;  ///< its periods and margin as the file has them
  std::vector<std::string> profiles;
  std::string model;  ///< of the profile; empty: its only one
  std::string gpu;
  std::optional<ServiceLevels> levels;
  Transitions transitions;
  std::optional<Watts> idle_gpu;
  bool leaves_servers = false;
  std::optional<HistoryWords> history;

  ServerCommands commands;
  Seconds command_within = Seconds(120);
  Seconds start_within = Seconds(1800);

  std::optional<HttpUrl> prometheus;  ///< metrics are read from there
  std::string selector;               ///< labels in PromQL, without braces
  std::string label = "instance";

  std::vector<FleetServer> servers;                  ///< layouts are 0 to `degrees` - 1
  std::vector<std::vector<InstanceSource>> sources;  ///< by server and instance
  std::vector<std::pair<int, int>> degrees;          ///< (tp, pp), by rising GPUs
  int gpus_per_server = 0;
};

/// invalid_argument naming file, line and key; not_found for names of policies and presets.
Result<FleetControlFile> read_fleet_control(const std::string& text, const std::string& name);

}  // namespace perjoule::cli
