#include "cli/train_options.h"

#include <fmt/format.h>

#include <limits>

#include "base/text.h"

namespace perjoule::cli {

Result<CostPrior> read_cost_prior(const Arguments& arguments) {
  CostPrior prior;
  PJ_TRY(prior.noise, arguments.read<Joules>("noise", parse_joules));
  PJ_TRY(prior.deviation, arguments.read<Joules>("prior-deviation", parse_joules));
  PJ_TRY(const auto mean, arguments.read<Joules>("prior-cost", parse_joules));
  if (mean.has_value() != prior.deviation.has_value())
    return Error::invalid_argument("--prior-cost and --prior-deviation go together");
  prior.mean = mean.value_or(Joules(0));
  return prior;
}

Result<int> read_count(const Arguments& arguments, std::string_view option, int most) {
  const std::string text = arguments.value(option);
  if (text.empty()) return Error::invalid_argument(fmt::format("--{} is missing", option));
  const auto number = parse_number(text);
  if (number && *number >= 0 && *number <= most && *number == static_cast<int>(*number))
    return static_cast<int>(*number);
  return Error::invalid_argument(
      fmt::format("--{} {}: not a count from 0 to {}", option, text, most));
}

Result<double> read_beta(const Arguments& arguments) {
  const std::string text = arguments.value("beta");
  if (text == "none") return std::numeric_limits<double>::infinity();
  if (const auto number = parse_number(text)) return *number;
  return Error::invalid_argument("--beta " + text + ": not a number", "2 is usual; none: no bound");
}

}  // namespace perjoule::cli
