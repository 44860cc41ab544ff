// What a fluid fleet may change, and how often. A baseline is a value of it: one code path runs
// all.
//
//   PJ_TRY(const FluidPolicy policy, find_policy("scale-inst"));
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fleet/plan/server_curves.h"

namespace perjoule {

/// How many servers are on.
enum class ServerScaling : std::uint8_t {
  kPeak,        ///< always as many as the peak takes, at the highest clock
  kLeast,       ///< the fewest that carry the epoch, at the highest clock
  kLeastPower,  ///< of those that carry the epoch at the clock they will run at, the ones whose
                ///< power at its mean and at its highest load, together, is least
  kJoint,       ///< those of least energy over the epoch, together with all that is free below
};

/// Which layout servers have; kFixed: the one of least power at the peak, for good.
enum class LayoutScaling : std::uint8_t { kFixed, kFree };

/// kUnequal: each server has a load, a layout and a clock of its own.
enum class LoadSplit : std::uint8_t { kEqual, kUnequal };

struct FluidPolicy {
  std::string name = {};         ///< "scale-inst"
  std::string description = {};  ///< in words, for help and tables
  ServerScaling servers = ServerScaling::kPeak;
  ClockScaling clock = ClockScaling::kHighest;
  LayoutScaling layout = LayoutScaling::kFree;
  LoadSplit split = LoadSplit::kEqual;
};

/// SinglePool, ScaleFreq, ScaleInst, ScaleInst+freq, the same with servers counted at the clock
/// they run at, Both, and the joint choice, in that order; the first is what others are held
/// against.
const std::vector<FluidPolicy>& fluid_policies();
/// not_found, naming those there are.
Result<FluidPolicy> find_policy(std::string_view name);

}  // namespace perjoule
