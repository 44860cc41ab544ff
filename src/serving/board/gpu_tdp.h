// The estimate people make where nothing was measured: thermal design power x GPUs x time. It is
// printed beside the measured energy to show how far it is off, and never used in its place.
#pragma once

#include <optional>
#include <string_view>

#include "base/units.h"
#include "workload/bench_result.h"

namespace perjoule {

/// The thermal design power of the GPU of that name (data/gpu_tdp.csv); none when it is not listed.
std::optional<Watts> gpu_tdp(std::string_view name);

/// Of the result's GPUs, one of them: by the driver's name where it is there, else the short one.
std::optional<Watts> gpu_tdp(const BenchGpus& gpus);

struct TdpEstimate {
  Joules per_unit;   ///< per output token, image or video
  double ratio = 1;  ///< estimate over what was measured: TDP x GPUs / mean power
};

/// None where power, or the GPU's TDP, is not known.
std::optional<TdpEstimate> tdp_estimate(const BenchResult& result);

}  // namespace perjoule
