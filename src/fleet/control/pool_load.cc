#include "fleet/control/pool_load.h"

#include <algorithm>
#include <cmath>

namespace perjoule {
namespace {

constexpr double kLoadMemory = 30;    // s
constexpr double kPeakMemory = 300;   // s
constexpr double kRecentMemory = 60;  // s, of requests in time
constexpr double kEnoughRequests = 20;
constexpr double kMostCaution = 3;
// A window's steps up, where it was late, and down again.
constexpr double kMoreCaution = 1.05;
constexpr double kLessCaution = 0.98;

}  // namespace

void PoolLoad::close_window(Seconds length, double least_attainment) {
  const double seconds = length.value();
  const double rate = window_tokens_ / seconds;
  window_tokens_ = 0;
  rate_ += (rate - rate_) * (1 - std::exp(-seconds / kLoadMemory));
  recent_peak_ = std::max(rate_, recent_peak_ * std::exp(-seconds / kPeakMemory));
  const double all = met_ + missed_;
  if (all >= kEnoughRequests) {
    const bool is_late = met_ < least_attainment * all;
    caution_ = std::clamp(caution_ * (is_late ? kMoreCaution : kLessCaution), 1.0, kMostCaution);
  }
  const double kept = std::exp(-seconds / kRecentMemory);
  met_ *= kept;
  missed_ *= kept;
}

}  // namespace perjoule
