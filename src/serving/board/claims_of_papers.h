// Claims with a figure of their own in a publication. Used by claims.cc.
#pragma once

#include "serving/board/claims.h"

namespace perjoule {

/// Largest TDP x GPUs / power over the energy-optimal configuration of each model.
ClaimAnswer recompute_tdp_overestimate(const std::vector<BenchResult>& results);
/// The choice under a deadline of 5 s, against the fastest configuration.
ClaimAnswer recompute_stable_diffusion(const std::vector<BenchResult>& results);
/// The choice under 100 ms mean TPOT, by energy per response, against the fastest configuration.
ClaimAnswer recompute_llama(const std::vector<BenchResult>& results);
/// Least energy per response of the two models.
ClaimAnswer recompute_phi(const std::vector<BenchResult>& results);
ClaimAnswer recompute_h100_70b(const std::vector<BenchResult>& results);

}  // namespace perjoule
