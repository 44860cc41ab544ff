// What a fleet's controllers may turn, and how often: the baselines and the whole are values of it.
//
//   for (const FleetPolicy& policy : fleet_policies()) ...
//   PJ_TRY(const FleetPolicy policy, policy_named("all-knobs"));
//
// They are those of DynamoLLM (HPCA 2025): single-pool serves all requests by instances over eight
// GPUs at the highest clock, multi-pool in a pool for each class, both with as many servers as the
// peak needs; scale-inst, scale-shard and scale-freq turn one knob of multi-pool each, all-knobs
// all three, which is DynamoLLM itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace perjoule {

/// What is done with a request that outlives the class it was predicted to be of.
enum class Outliving : std::uint8_t {
  kKeep,
  kSpeedUp,  ///< its instance runs at the highest clock until it is done
  kMove,     ///< to a pool of its real class, where what was computed of it is computed again
};

struct FleetPolicy {
  std::string name = {};
  std::string description = {};  ///< in words, for help
  bool has_pools = true;         ///< one for each class
  bool scales_instances = false;
  bool scales_shards = false;
  bool scales_clocks = false;
  bool has_emergencies = true;  ///< earliest deadline first, highest clock, steering
  Outliving outliving = Outliving::kKeep;

  Seconds instance_period = Seconds(1800);
  Seconds shard_period = Seconds(300);
  Seconds clock_period = Seconds(5);
  double least_attainment = 0.95;      ///< share of requests that get their tokens in time
  double margin = 1.1;                 ///< of capacity over the load that is expected
  double pay_back = 0.3;               ///< share of a saving that is not counted on before a change
  Seconds squash_after = Seconds(60);  ///< without a first token
};

/// In the order of the paper, single-pool first.
const std::vector<FleetPolicy>& fleet_policies();
/// In any case of letters; not_found lists the names.
Result<FleetPolicy> policy_named(std::string_view name);

/// How long changes take. Each is a setting: DynamoLLM's own figures are known from others' texts.
struct Transitions {
  Seconds start = Seconds(420);     ///< of a server from nothing: 6 to 8 minutes cold
  Seconds reshard = Seconds(1.55);  ///< weights between GPUs 50 ms, engines in step 1 to 2 s
  Seconds clock = Seconds(0.065);   ///< 50 to 80 ms through a command-line tool
  Seconds drain = Seconds(60);      ///< that running requests are waited for before they are moved
};

}  // namespace perjoule
