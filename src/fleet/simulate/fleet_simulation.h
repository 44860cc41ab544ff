// A fleet of inference servers, request by request: pools, routing, controllers, transitions.
//
//   FleetSetup setup{.models = models, .profile = &profile, .forecast = forecast.get(), ...};
//   PJ_TRY(const FleetReport report, simulate_fleet(setup, policy, *stream));
//
// A request is predicted to be of a class, goes to that class's pool (or, by the plan's share, to a
// larger one), there to the instance that would clear its queue first, and ends as done, squashed
// or failed. Between arrivals and the controllers' ticks instances advance by themselves. The same
// setup, policy and stream give the same report to the last bit.
//
// Energy is of the GPUs: of steps (busy), at rest in servers that are on (idle), and of servers
// that start or change their shards (transition); a server that is off draws nothing. It is counted
// until the end of the minute in which the last request ended. Complexity: O(steps + requests x
// instances of a pool). Memory: live requests, instances and a bin a minute.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "fleet/control/engine_capacity.h"
#include "fleet/control/fleet_policy.h"
#include "fleet/control/load_forecast.h"
#include "fleet/engine/instance.h"
#include "fleet/simulate/fleet_report.h"
#include "fleet/traffic/output_predictor.h"
#include "fleet/traffic/request_stream.h"

namespace perjoule {

struct FleetSetup {
  std::vector<std::shared_ptr<const StepModel>> models = {};  ///< one a layout, the largest last
  LayoutLimits limits = {.every = {.most_running = 256, .step_tokens = 512}, .step_tokens = {}};
  int gpus_per_server = 8;
  int most_servers = 1000;
  ServiceLevels levels = dynamo_levels();
  Transitions transitions = {};
  const EngineCapacity* capacity = nullptr;
  /// Of policies that scale instances.
  LoadForecast* forecast = nullptr;
  /// For those that do not: each class's load that the servers are to carry, its peak.
  ClassLoads peak = {};
  double peak_of_all = 0;  ///< and of all together, for a single pool
  /// Of policies with pools.
  OutputPredictor* predictor = nullptr;
  /// Told how far it is, in simulated time, each simulated hour; none: nobody.
  std::function<void(Seconds)> progress = {};
};

/// invalid_argument for a setup that lacks what the policy needs; out_of_range where nothing can be
/// in time at any load; errors of the stream and of the pool solver.
Result<FleetReport> simulate_fleet(const FleetSetup& setup, const FleetPolicy& policy,
                                   RequestStream& stream);

}  // namespace perjoule
