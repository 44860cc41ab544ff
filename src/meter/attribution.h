// Whose joules: a device's energy shared out among those who kept it busy.
//
// The idle part (idle power times time, when it is known) belongs to nobody in particular and is an
// owner of its own; the rest goes by weight: CPU time, or share of the GPU's time. The parts add up
// to the measured total exactly, whatever the weights: nothing is a residual that could go
// negative.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/energy.h"

namespace perjoule {

struct Weight {
  std::string owner;
  double amount = 0;  ///< CPU seconds, or utilisation times seconds; below 0 counts as 0
};

struct Attributed {
  std::string owner;
  Energy energy;
  double share = 0;  ///< of the total
};

constexpr const char* kIdleOwner = "idle";
constexpr const char* kUnattributedOwner = "unattributed";

/// Splits `total`. With `idle` known it comes off first (never more than the total). Weights that
/// sum to nothing leave the rest unattributed. Each part's uncertainty grows by that of a share
/// that was counted in n = `ticks`: E sqrt(f'(1-f')/(n+3)) with f' = (n f + 1)/(n + 2), which is
/// not nothing for a share of nothing or all. Hard bounds are 0 and the total's; an estimate's are
/// its interval. One owner without idle part has it all, for certain. O(owners).
std::vector<Attributed> attribute(const Energy& total, const std::optional<Joules>& idle,
                                  const std::vector<Weight>& weights, double ticks);

}  // namespace perjoule
