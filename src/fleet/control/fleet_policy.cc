#include "fleet/control/fleet_policy.h"

#include "base/text.h"

namespace perjoule {
namespace {

std::vector<FleetPolicy> make_policies() {
  FleetPolicy single;
  single.name = "single-pool";
  single.description =
      "all requests together, 8 GPUs an instance, highest clock, servers of the peak";
  single.has_pools = false;
  single.has_emergencies = false;
  FleetPolicy multi = single;
  multi.name = "multi-pool";
  multi.description = "a pool for each class, otherwise as single-pool";
  multi.has_pools = true;
  FleetPolicy instances = multi;
  instances.name = "scale-inst";
  instances.description = "multi-pool with the servers that the forecast needs, every 30 min";
  instances.has_emergencies = true;
  instances.scales_instances = true;
  FleetPolicy shards = multi;
  shards.name = "scale-shard";
  shards.description = "multi-pool with instances over 2, 4 or 8 GPUs, every 5 min";
  shards.has_emergencies = true;
  shards.scales_shards = true;
  FleetPolicy clocks = multi;
  clocks.name = "scale-freq";
  clocks.description = "multi-pool with the lowest power's clock, every 5 s";
  clocks.has_emergencies = true;
  clocks.scales_clocks = true;
  FleetPolicy all = instances;
  all.name = "all-knobs";
  all.description = "all three (DynamoLLM)";
  all.scales_shards = all.scales_clocks = true;
  return {single, multi, instances, shards, clocks, all};
}

}  // namespace

const std::vector<FleetPolicy>& fleet_policies() {
  static const std::vector<FleetPolicy> policies = make_policies();
  return policies;
}

Result<FleetPolicy> policy_named(std::string_view name) {
  std::string names;
  for (const FleetPolicy& policy : fleet_policies()) {
    if (equals_ignoring_case(policy.name, name)) return policy;
    names += (names.empty() ? "" : ", ") + policy.name;
  }
  return Error::not_found("no such policy: " + std::string(name), "there are " + names);
}

}  // namespace perjoule
