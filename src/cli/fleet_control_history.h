// The load of other days in the file of a fleet that is to be controlled.
//
//   history = "week.csv"
//   history = { file = "requests.csv", column = "conv_req_per_min", tokens-per-request = 1632,
//               begins = "2024-05-12 00:00:00", repeats = "week" }
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/toml_tree.h"
#include "fleet/control/load_history.h"
#include "fleet/hands/fleet_layout.h"

namespace perjoule::cli {

struct HistoryWords {
  std::string file;     ///< from the fleet's file's own folder, as `lengths` is
  std::string lengths;  ///< a trace; empty: none
  HistorySource source;
  std::string place;  ///< "fleet.toml:7", for messages
};

/// The value of `history`. invalid_argument naming line and key.
Result<HistoryWords> read_history(const TomlNode& node);

/// The history, its load put on the pools of these servers; `fleet` is their file. Errors of
/// reading it, after the place that names it.
Result<LoadHistory> load_history(const HistoryWords& words, const std::string& fleet,
                                 bool has_pools, const std::vector<FleetServer>& servers);

/// "week.csv by the time of the week, 7 d in bins of 10.0 min from 2024-05-12 00:00:00 UTC on".
std::string text_of(const LoadHistory& history);

/// A path of a file's is one from the file's own folder.
std::string beside(const std::string& file, const std::string& path);

}  // namespace perjoule::cli
