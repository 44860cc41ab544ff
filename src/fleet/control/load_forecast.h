// The load of each class that is to be expected, from what is known of other days: DynamoLLM's
// weekly templates, and the certain knowledge that they are held against.
//
//   const auto forecast = daily_template(history, {});   // bins of several days
//   forecast->observe(now, loads_of_the_last_minutes);
//   const ClassLoads peak = forecast->peak(now, now + Seconds(1800));
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "fleet/control/instance_plan.h"
#include "fleet/plan/load_curve.h"

namespace perjoule {

/// What an expected load is taken from.
enum class ForecastBasis : std::uint8_t {
  kKnown,    ///< the load itself, which nobody knows but a simulation
  kHistory,  ///< other days
  kPresent,  ///< what comes now, as it is more than was expected
  kRecent,   ///< what came lately
};
/// "known", "history", "present", "recent".
std::string_view name_of(ForecastBasis basis);

/// What a pool's servers are counted for.
struct ExpectedLoad {
  double load = 0;  ///< prompt tokens a second, the highest of the period
  ForecastBasis basis = ForecastBasis::kKnown;
};

class LoadForecast {
 public:
  virtual ~LoadForecast() = default;
  /// The highest load of each class between the two, prompt tokens a second.
  virtual ClassLoads peak(Seconds from, Seconds until) const = 0;
  /// What that is taken from, of one class.
  virtual ForecastBasis basis(Seconds from, Seconds until, std::size_t load_class) const = 0;
  /// What came: a template is stretched to it.
  virtual void observe(Seconds /*now*/, const ClassLoads& /*loads*/) {}
};

/// The curve itself, which has nine classes: what nobody knows beforehand.
std::unique_ptr<LoadForecast> known_load(LoadCurve load);

struct TemplateOptions {
  Seconds day = Seconds(86'400);  ///< after which the load comes again
  double spread = 1;              ///< so many standard deviations over the mean of the days
  double most_stretch = 2;        ///< and its reciprocal at least
  Seconds now = {};               ///< what a simulation's beginning is after the first bin's
};
/// For each bin of the day the mean of all days of `history`, and `spread` standard deviations over
/// it, stretched by what came over what was expected in the last half an hour. invalid_argument for
/// less than one day, unlike bins, or not nine classes.
Result<std::unique_ptr<LoadForecast>> daily_template(const LoadCurve& history,
                                                     const TemplateOptions& options);

}  // namespace perjoule
