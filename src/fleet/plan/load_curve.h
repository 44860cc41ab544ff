// The load of a service over time, as a fluid: bins of prompt tokens a second, for all requests or
// by class. A week in bins of ten minutes is 1,008 bins, however many requests there were.
//
//   PJ_TRY(const LoadCurve load, load_of_arrivals(arrivals, Seconds(60), 10, "conv.csv"));
#pragma once

#include <string>
#include <vector>

#include "base/csv.h"
#include "base/result.h"
#include "base/units.h"

namespace perjoule {

struct LoadBin {
  Seconds start = {};  ///< from the curve's beginning
  Seconds duration = {};
  std::vector<double> tokens_per_s = {};  ///< prompt tokens, by class
};

struct LoadCurve {
  std::vector<std::string> classes = {""};  ///< one without a name: all requests
  std::vector<LoadBin> bins = {};           ///< by time, none within another
  std::string origin = {};                  ///< what it was made of, printed with every result
};

/// Of one class of the curve, prompt tokens a second.
struct LoadExtent {
  double mean = 0;
  double peak = 0;
  double tokens = 0;
  Seconds duration = {};
};
/// `column` is below the number of classes. O(bins).
LoadExtent extent_of(const LoadCurve& load, std::size_t column);

/// invalid_argument, naming the bin, for bins that overlap or go back, durations that are not above
/// 0, rates that are below 0 or no number, and a curve without bins. O(bins).
Outcome check_load(const LoadCurve& load);

/// A request as far as a fluid knows it.
struct PromptArrival {
  Seconds at = {};
  double tokens = 0;  ///< of its prompt
};

/// Full bins counted from the first arrival, times `scale`; what comes after the last full one is
/// left out. Arrivals may come in any order. invalid_argument where there is not one full
/// bin, and for a scale or bin that is not above 0. O(arrivals).
Result<LoadCurve> load_of_arrivals(const std::vector<PromptArrival>& arrivals, Seconds bin,
                                   double scale, std::string origin);

/// How a table of request rates is read: one column of the digitised week of Azure's trace.
struct RequestRates {
  std::string column = {};        ///< requests a minute: "conv_req_per_min"
  double tokens_per_request = 0;  ///< prompt tokens
  double scale = 1;
};

/// A table of loads. Ours (docs/formats.md): start_s, duration_s, and prompt_tps or one column
/// prompt_tps:CLASS a class. Or one with minute_start and requests a minute, as `rates` says; its
/// bins last until the next, the last as long as the one before. Errors name file, line and column.
Result<LoadCurve> read_load_curve(const CsvTable& table, const RequestRates& rates);
/// Whether it has the columns of one of the two.
bool is_load_table(const CsvTable& table);

}  // namespace perjoule
