#include "fleet/plan/fluid_policy.h"

namespace perjoule {

const std::vector<FluidPolicy>& fluid_policies() {
  static const auto* const policies = new std::vector<FluidPolicy>{
      {"single-pool", "servers for the peak, highest clock", ServerScaling::kPeak,
       ClockScaling::kHighest, LayoutScaling::kFree, LoadSplit::kEqual},
      {"scale-freq", "servers for the peak, clock free", ServerScaling::kPeak, ClockScaling::kFree,
       LayoutScaling::kFree, LoadSplit::kEqual},
      {"scale-inst", "fewest servers, highest clock", ServerScaling::kLeast, ClockScaling::kHighest,
       LayoutScaling::kFree, LoadSplit::kEqual},
      {"scale-inst-freq", "fewest servers at the highest clock, then clock free",
       ServerScaling::kLeast, ClockScaling::kFree, LayoutScaling::kFree, LoadSplit::kEqual},
      {"scale-inst-run-clock", "servers of least power at the clock they run at, then clock free",
       ServerScaling::kLeastPower, ClockScaling::kFree, LayoutScaling::kFree, LoadSplit::kEqual},
      {"both", "servers and clock together, equal loads", ServerScaling::kJoint,
       ClockScaling::kFree, LayoutScaling::kFree, LoadSplit::kEqual},
      {"joint", "servers, layouts, clocks and loads together", ServerScaling::kJoint,
       ClockScaling::kFree, LayoutScaling::kFree, LoadSplit::kUnequal},
  };
  return *policies;
}

Result<FluidPolicy> find_policy(std::string_view name) {
  std::string known;
  for (const FluidPolicy& policy : fluid_policies()) {
    if (policy.name == name) return policy;
    known += (known.empty() ? "" : ", ") + policy.name;
  }
  return Error::not_found("no fleet policy '" + std::string(name) + "'", "there are: " + known);
}

}  // namespace perjoule
