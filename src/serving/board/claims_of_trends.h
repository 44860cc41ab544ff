// Claims about what holds over many models. Used by claims.cc.
#pragma once

#include "serving/board/claims.h"

namespace perjoule {

/// Over each task, model and GPU: energy per token of the fastest configuration over that of the
/// one of highest throughput; tokens per second and watt are tokens per joule.
ClaimAnswer recompute_tokens_per_watt(const std::vector<BenchResult>& results);
/// Energy per response of each model's choice per token: GPQA over chat, the thinking variant over
/// the instructed one where the two are models of their own.
ClaimAnswer recompute_reasoning(const std::vector<BenchResult>& results);
/// Median share of TDP.
ClaimAnswer recompute_near_tdp(const std::vector<BenchResult>& results);
/// Over models measured on both: least energy on the older GPU over that on the newer.
ClaimAnswer recompute_newer_gpu(const std::vector<BenchResult>& results);
/// Models measured in both precisions: least energy per token of each.
ClaimAnswer recompute_fp8(const std::vector<BenchResult>& results);

}  // namespace perjoule
