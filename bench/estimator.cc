// The CPU estimator on machines that its curve was not made from: each of the measured ones left
// out in turn. Built where the curve's own program is (tools/cpu_curve_fit.h).
#include <fmt/format.h>

#include "base/file.h"
#include "figure.h"
#include "tools/cpu_curve_fit.h"

namespace pb = perjoule::bench;

int main() {
  const std::string folder =
      perjoule::environment("PERJOULE_DATA", std::string(PERJOULE_SOURCE_DIR) + "/../shared/data") +
      "/cpu_power/load_profiles";
  if (!perjoule::path_exists(folder)) {
    pb::print({.figure = "estimator",
               .unit = "%",
               .bar = ">= 95",
               .detail = "not run: the load profiles are not here; set PERJOULE_DATA"});
    return 0;
  }
  const auto check = perjoule::leave_one_out(pb::must(perjoule::read_load_profiles(folder)));
  const double covered = 100.0 * check.covered / check.steps;
  pb::print({.figure = "estimator",
             .value = covered,
             .unit = "%",
             .bar = ">= 95",
             .pass = covered >= 95,
             .detail = fmt::format("{} of {} load steps", check.covered, check.steps)});
  pb::print({.figure = "estimator_width",
             .value = check.mean_width,
             .unit = "TDP",
             .bar = "<= 1.5",
             .pass = check.mean_width <= 1.5,
             .detail = "highest minus lowest power of the interval, over the processors' TDP"});
  pb::print({.figure = "estimator_error",
             .value = 100 * check.median_error,
             .unit = "%",
             .bar = "shown beside CodeCarbon's",
             .pass = check.median_error <= check.median_error_codecarbon,
             .detail = fmt::format("CodeCarbon's estimated_power in the same files: {:.1f} %",
                                   100 * check.median_error_codecarbon)});
}
