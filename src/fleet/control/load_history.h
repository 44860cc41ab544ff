// The load of other days as what is to be expected of the days to come: read from a file, put on
// the classes of a fleet's pools, and learnt by the template that simulations learn by
// (load_forecast.h).
//
//   PJ_TRY(LoadHistory history, read_load_history("week.csv", source));
//   PJ_TRY(history.load, load_of_pools(history.load, {}));              // one pool of all requests
//   PJ_TRY(const auto forecast, forecast_of(history, clock.unix_ns())); // from now on
//
// What counts is the time of the day or of the week that the history's bins were of: what Monday's
// 9:00 had is expected of 9:00 on Mondays. Days have 24 hours of UTC, daylight saving is not
// followed; a history whose stamps name a zone is of that zone's instants.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "fleet/control/load_forecast.h"
#include "fleet/plan/load_curve.h"
#include "fleet/traffic/load_class.h"
#include "workload/azure_trace.h"

namespace perjoule {

inline constexpr Seconds kHistoryDay = Seconds(86'400);
inline constexpr Seconds kHistoryWeek = Seconds(604'800);

/// What a file of loads does not say itself.
struct HistorySource {
  std::string column = {};                 ///< of a table of requests a minute
  double tokens_per_request = 0;           ///< of it, prompt tokens; or
  std::vector<TokenLengths> lengths = {};  ///< how long its requests are
  double scale = 1;                        ///< the fleet's load over the file's
  /// Unix time of a table's second or minute 0; none: a Monday's 0:00 UTC.
  std::optional<std::int64_t> begins_ns = {};
  /// After which the load comes again, kHistoryDay or kHistoryWeek; none: a week where there is a
  /// week of it.
  std::optional<Seconds> repeats = {};
};

struct LoadHistory {
  LoadCurve load = {};         ///< the first bin from 0 on, all of the same length
  std::int64_t begins_ns = 0;  ///< unix time of the first bin
  Seconds repeats = kHistoryDay;

  Seconds bin() const { return load.bins.front().duration; }
  Seconds length() const { return bin() * static_cast<double>(load.bins.size()); }
};

/// A trace of requests (workload/azure_trace.h), in bins of a minute by class, or a table of loads
/// (fleet/plan/load_curve.h). Errors of reading; invalid_argument, naming the file and, of a table,
/// its line, for words that do not fit it, bins that are not alike or do not fill a day exactly,
/// less than a day or week of load, and parts of it that no bin is of. Memory: bins.
Result<LoadHistory> read_load_history(const std::string& path, const HistorySource& source);

/// The load as a fleet's pools have it, nine rates a bin: of each of these classes, or, where none
/// is named, all of it as the first, which is the only one. invalid_argument for a load that is not
/// told by class, a class that is none or has a load and no pool, and a pool without a load.
Result<LoadCurve> load_of_pools(const LoadCurve& load, const std::vector<LoadClass>& pools);

/// Of a fleet whose control begins at that unix time; the load is of nine classes. Errors as of
/// daily_template().
Result<std::unique_ptr<LoadForecast>> forecast_of(const LoadHistory& history, std::int64_t unix_ns);

}  // namespace perjoule
