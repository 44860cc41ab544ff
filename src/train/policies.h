// The policies by name, each with the way it finds power limits.
#pragma once

#include <string>
#include <string_view>

#include "train/simulate.h"

namespace perjoule {

struct PolicyChoice {
  std::string name;  ///< zeus, perjoule, default, grid or oracle
  double eta = 0.5;
  double beta = 2;
  int window = 0;
  CostPrior prior = {};
};

/// A policy and its search, for one job.
struct PlayedPolicy {
  std::unique_ptr<BatchSizePolicy> policy;
  LimitSearch search = LimitSearch::kAll;
};

/// invalid_argument for a name there is not.
Result<PlayedPolicy> make_policy(const PolicyChoice& choice, const WorkloadTrace& trace,
                                 const JobCost& cost);

}  // namespace perjoule
