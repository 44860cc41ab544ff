// What fleet simulate plays request by request: a trace, or requests drawn at the rates of a table.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "fleet/traffic/class_load.h"
#include "fleet/traffic/output_predictor.h"
#include "fleet/traffic/request_stream.h"

namespace perjoule::cli {

/// Where requests come from: a trace that is replayed, or rates with lengths of a trace.
struct FleetTraffic {
  std::string trace = {};
  int copies = 1;
  std::vector<RateBin> rates = {};
  std::vector<RateBin> learnt = {};        ///< what came before
  std::vector<TokenLengths> lengths = {};  ///< of the first requests
  std::uint64_t seed = 1;
  std::vector<std::string> words = {};  ///< what it is, a line each

  /// From its beginning, the same each time.
  Result<std::unique_ptr<RequestStream>> stream() const;
  /// Of nine classes, as predicted.
  Result<LoadCurve> load(OutputPredictor& predictor) const;
};

/// LOAD with --scale, --column, --lengths, --learn and --seed.
Result<FleetTraffic> read_fleet_traffic(const Arguments& arguments);
/// The lengths of a trace's first requests, enough to know how they are spread.
Result<std::vector<TokenLengths>> read_lengths(const std::string& path);

/// "--margin x: not a factor".
Error unfit(const Arguments& arguments, std::string_view option, std::string_view wanted);
/// invalid_argument for what is no number of that range.
Result<double> number_within(const Arguments& arguments, std::string_view option, double least,
                             double most, std::string_view wanted);
/// invalid_argument for what is no time from 0 on.
Result<Seconds> time_given(const Arguments& arguments, std::string_view option);

}  // namespace perjoule::cli
