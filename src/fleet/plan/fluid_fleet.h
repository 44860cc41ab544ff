// A whole fleet as a fluid: a pool of servers for each class of requests, summed.
//
//   PJ_TRY(const FluidFleet fleet, FluidFleet::make(profile, load, options));
//   for (const FluidPolicy& policy : fluid_policies()) show(fleet.run(policy));
#pragma once

#include <string>
#include <vector>

#include "fleet/plan/fluid_pool.h"

namespace perjoule {

class FluidFleet {
 public:
  /// Each class of the load takes the profile's curves of that class, or of any. Limits on servers
  /// are on each pool. Fails as FluidPool::make() does, the class named where there are several.
  static Result<FluidFleet> make(const ServingProfile& profile, const LoadCurve& load,
                                 const FluidOptions& options);

  FluidReport run(const FluidPolicy& policy) const;
  int most_servers() const;
  int gpus_per_server() const;  ///< of the largest pool
  std::vector<std::string> notes() const;

 private:
  std::vector<FluidPool> pools_;
};

}  // namespace perjoule
