// Words that several verbs about trainings share.
#pragma once

#include "cli/verb.h"
#include "train/batch_size_policy.h"

namespace perjoule::cli {

/// --noise, --prior-cost and --prior-deviation.
Result<CostPrior> read_cost_prior(const Arguments& arguments);
/// A whole number from 0 to `most`.
Result<int> read_count(const Arguments& arguments, std::string_view option,
                       int most = 1'000'000'000);
/// --beta: a number, or none for infinity.
Result<double> read_beta(const Arguments& arguments);

}  // namespace perjoule::cli
