#include "fleet/control/fleet_policy.h"

#include "base/text.h"

namespace perjoule {
namespace {

std::vector<FleetPolicy> make_policies() {
  FleetPolicy single{.name = "SinglePool"};
  single.has_pools = false;
  single.has_emergencies = false;
  FleetPolicy multi{.name = "MultiPool"};
  multi.has_emergencies = false;
  FleetPolicy knobs = multi;
  knobs.has_emergencies = true;
  FleetPolicy instances = knobs;
  instances.name = "ScaleInst";
  instances.scales_instances = true;
  FleetPolicy shards = knobs;
  shards.name = "ScaleShard";
  shards.scales_shards = true;
  FleetPolicy clocks = knobs;
  clocks.name = "ScaleFreq";
  clocks.scales_clocks = true;
  FleetPolicy all = knobs;
  all.name = "DynamoLLM";
  all.scales_instances = all.scales_shards = all.scales_clocks = true;
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
