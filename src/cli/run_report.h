// What `run` found, as a table, a JSON document, a CSV of courses and an entry of the store.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/verb.h"
#include "meter/command_run.h"
#include "store/store.h"

namespace perjoule::cli {

struct RunReport {
  CommandResult result;
  std::vector<std::string> command;
  std::string unit;
  std::string project;
  std::vector<std::string> tags;
  Seconds every;
  std::optional<double> expected_units;  ///< of --epochs
  std::vector<std::string> gpu_names;    ///< of the GPUs measured, for their peak rate
  std::optional<double> peak;  ///< FLOP/s to hold a rate against, where the user knows better
  std::optional<Measurement> baseline;
};

/// The document perjoule.run.v1 (docs/formats.md).
Json run_document(const RunReport& report);

/// The run as the store keeps it: document and even timelines.
RunRecord run_record(const RunReport& report);

/// Prints table or JSON and writes the CSV asked for.
Outcome deliver(const RunReport& report, const Arguments& arguments);

}  // namespace perjoule::cli
