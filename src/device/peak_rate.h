// How fast an accelerator could compute at best: what a measured rate is held against.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace perjoule {

struct PeakRate {
  std::string precision;       ///< "BF16"
  double flop_per_second = 0;  ///< dense
};

/// By the name the driver gives ("NVIDIA H100 80GB HBM3"), from data/accelerator_peaks.csv. None
/// when unknown.
std::optional<PeakRate> find_peak_rate(std::string_view device_name);

}  // namespace perjoule
