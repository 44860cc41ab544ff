#include "fleet/control/fleet_controller.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace perjoule {
namespace {

/// Share of the time to the first token that a queue may need before its clock is the highest.
constexpr double kLate = 0.5;
/// Loads that differ by less have the same answer of the pool problem.
constexpr double kLoadStep = 1.05;
/// How much of the longest wait for running requests a server's change takes in the mean.
constexpr double kMeanDrain = 0.5;

double total(const ClassLoads& loads) { return std::accumulate(loads.begin(), loads.end(), 0.0); }

/// Those that serve or will.
int active(const PoolView& pool) {
  return static_cast<int>(std::count_if(pool.servers.begin(), pool.servers.end(),
                                        [](const ServerView& server) { return !server.stops; }));
}

int serving(const PoolView& pool) {
  return static_cast<int>(std::count_if(pool.servers.begin(), pool.servers.end(),
                                        [](const ServerView& server) { return server.serves; }));
}

/// Instances by layout of those that serve.
std::vector<int> shards_of(const PoolView& pool, std::size_t layouts) {
  std::vector<int> counts(layouts, 0);
  for (const ServerView& server : pool.servers) {
    if (!server.serves) continue;
    for (std::size_t layout = 0; layout < layouts; ++layout)
      counts[layout] += server.shards[layout];
  }
  return counts;
}

}  // namespace

bool is_due(Seconds now, Seconds period) {
  const double since = std::fmod(now.value(), period.value());
  return since < 1e-6 || since > period.value() - 1e-6;
}

FleetController::FleetController(const FleetPolicy& policy, const ControllerSetup& setup)
    : policy_(policy), setup_(setup), capacity_(*setup.capacity) {}

Seconds FleetController::due_within(std::size_t pool) const {
  if (policy_.has_pools) return setup_.levels[pool].first_token;
  Seconds least = setup_.levels.front().first_token;
  for (const ServiceLevel& level : setup_.levels) least = std::min(least, level.first_token);
  return least;
}

double FleetController::carries(std::size_t pool, std::size_t layout, std::size_t clock) const {
  const double load = capacity_.highest_load(layout, clock, class_of(pool));
  return load > 0 ? load : capacity_.last_load(layout, clock, class_of(pool));
}

/// What a server of a pool's class carries at the highest clock.
double FleetController::per_server(std::size_t pool_class) const {
  const std::size_t highest = capacity_.clocks() - 1;
  double most = 0;
  for (std::size_t layout = 0; layout < capacity_.layouts(); ++layout) {
    if (!policy_.scales_shards && layout + 1 != capacity_.layouts()) continue;
    const int count = setup_.gpus_per_server / capacity_.gpus(layout);
    most = std::max(most, count * capacity_.highest_load(layout, highest, pool_class));
  }
  return most;
}

InstancePlan FleetController::plan(ClassLoads expected) const {
  for (double& load : expected) load *= policy_.margin;
  if (policy_.has_pools) {
    ClassLoads of_server = {};
    for (std::size_t i = 0; i < kLoadClasses; ++i) of_server[i] = per_server(i);
    InstancePlan plan = plan_instances(expected, of_server, per_server(kMixedClass));
    limit_servers(plan, setup_.most_servers);
    return plan;
  }
  InstancePlan all;
  const double one = per_server(kMixedClass);
  const double filled = one > 0 ? total(expected) / one : setup_.most_servers;
  // A hundredth of a server is not worth one.
  all.servers[0] = std::max(1, whole_servers(std::ceil(filled - 0.01)));
  all.servers[0] = std::min(all.servers[0], setup_.most_servers);
  all.filled[0] = filled;
  return all;
}

FleetController::Planned FleetController::planned_from(Seconds from) const {
  const Seconds until = from + policy_.instance_period;
  const ClassLoads loads = setup_.forecast->peak(from, until);
  Planned planned{plan(loads), {}};
  // The one pool of a fleet without classes has all of them.
  for (std::size_t pool = 0; pool < pools(); ++pool) {
    planned.expected.push_back({policy_.has_pools ? loads[pool] : total(loads),
                                setup_.forecast->basis(from, until, pool)});
  }
  return planned;
}

std::optional<ExpectedLoad> FleetController::expected(std::size_t pool) const {
  std::optional<ExpectedLoad> most;
  for (const Planned* planned : {&current_, next_ ? &*next_ : nullptr}) {
    if (planned == nullptr || pool >= planned->expected.size()) continue;
    if (!most || planned->expected[pool].load > most->load) most = planned->expected[pool];
  }
  return most;
}

ShardQuestion FleetController::question(std::size_t pool, int servers, double load) const {
  return {.pool_class = class_of(pool),
          .gpus = servers * setup_.gpus_per_server,
          .load = load,
          .idle_gpu = setup_.idle_gpu,
          .at_highest_clock = !policy_.scales_clocks};
}

Result<FleetController::Beginning> FleetController::begin() {
  if (policy_.scales_instances) {
    current_ = planned_from(Seconds(0));
  } else {
    ClassLoads expected = setup_.peak;
    if (!policy_.has_pools) {
      expected = {};
      expected.back() = setup_.peak_of_all;
    }
    current_.plan = plan(expected);
  }
  const InstancePlan& first = current_.plan;
  Beginning beginning;
  for (std::size_t pool = 0; pool < pools(); ++pool) {
    const int servers = first.servers[pool];
    std::vector<int> instances(capacity_.layouts(), 0);
    instances.back() = servers * (setup_.gpus_per_server / capacity_.gpus(capacity_.layouts() - 1));
    if (policy_.scales_shards && servers > 0) {
      const double load = first.filled[pool] * per_server(class_of(pool));
      PJ_TRY(const ShardPlan shards, plan_shards(capacity_, question(pool, servers, load)));
      instances = shards.instances;
    }
    beginning.servers.push_back(lay_out(capacity_, instances, servers, setup_.gpus_per_server));
    beginning.spills.push_back(first.spill[pool]);
  }
  return beginning;
}

Result<FleetOrders> FleetController::decide(const FleetView& view) {
  FleetOrders orders;
  if (policy_.scales_instances) decide_instances(view, orders);
  if (policy_.scales_shards && view.now > Seconds(0)) PJ_CHECK(decide_shards(view, orders));
  if (policy_.scales_clocks) {
    for (std::size_t pool = 0; pool < view.pools.size(); ++pool) decide_clocks(view, pool, orders);
  }
  return orders;
}

// --- servers
// --------------------------------------------------------------------------------------

/// How many servers the pools are to have: those of this period, and of the one that begins before
/// a server ordered now would be ready.
void FleetController::decide_instances(const FleetView& view, FleetOrders& orders) {
  ClassLoads came = {};
  for (std::size_t i = 0; i < view.pools.size(); ++i) came[i] = view.pools[i].load;
  setup_.forecast->observe(view.now, came);
  const Seconds period = policy_.instance_period;
  const Seconds lead =
      policy_.clock_period * std::ceil(setup_.transitions.start / policy_.clock_period - 1e-9);
  const bool begins = is_due(view.now, period) && view.now > Seconds(0);
  if (begins) {
    current_ = planned_from(view.now);
    const auto& spills = current_.plan.spill;
    orders.spills.emplace(spills.begin(),
                          spills.begin() + static_cast<std::ptrdiff_t>(view.pools.size()));
  }
  if (lead > Seconds(0) && is_due(view.now + lead, period)) {
    next_ = planned_from(view.now + lead);
    next_begins_ = view.now + lead;
  }
  if (next_ && next_begins_ <= view.now) next_.reset();
  int on = 0;
  for (const PoolView& pool : view.pools) on += static_cast<int>(pool.servers.size());
  for (std::size_t pool = 0; pool < view.pools.size(); ++pool) {
    const int wanted = std::max(current_.plan.servers[pool], next_ ? next_->plan.servers[pool] : 0);
    // Fewer only when a period begins; more whenever there are any to be had.
    int more = wanted - active(view.pools[pool]);
    if (more < 0 && !begins) continue;
    more = std::min(more, std::max(0, setup_.most_servers - on));
    if (more > 0) on += more;
    if (more != 0) orders.servers.push_back({pool, more, view.now + setup_.transitions.start});
  }
}

// --- shards
// ---------------------------------------------------------------------------------------

double FleetController::carried(std::size_t pool, const PoolView& view) const {
  const std::vector<int> counts = shards_of(view, capacity_.layouts());
  double load = 0;
  for (std::size_t layout = 0; layout < counts.size(); ++layout)
    load += counts[layout] * carries(pool, layout, capacity_.clocks() - 1);
  return load;
}

/// What larger pools could carry beside their own loads, prompt tokens a second.
double FleetController::spare_above(std::size_t pool, const FleetView& view) const {
  double spare = 0;
  for (std::size_t i = 0; policy_.has_pools && i < view.pools.size(); ++i) {
    if (i == pool || !dominates(static_cast<LoadClass>(i), static_cast<LoadClass>(pool))) continue;
    spare += std::max(0.0, carried(i, view.pools[i]) - view.pools[i].recent_peak * policy_.margin);
  }
  return spare;
}

Outcome FleetController::decide_shards(const FleetView& view, FleetOrders& orders) const {
  for (std::size_t pool = 0; pool < view.pools.size(); ++pool) {
    const PoolView& one = view.pools[pool];
    const int count = serving(one);
    const bool changes = std::any_of(one.servers.begin(), one.servers.end(),
                                     [](const ServerView& server) { return server.reshards; });
    const double load = one.recent_peak * policy_.margin * one.caution;
    const double carried_now = carried(pool, one);
    const bool carries_it = carried_now >= load;
    if (count == 0 || changes || (carries_it && !is_due(view.now, policy_.shard_period))) continue;
    const double step =
        std::pow(kLoadStep, std::ceil(std::log(std::max(load, 1.0)) / std::log(kLoadStep)));
    PJ_TRY(const ShardPlan wanted, plan_shards(capacity_, question(pool, count, step)));
    if (carries_it) {
      const ShardQuestion asked = question(pool, count, load);
      const Watts saving = (power_of_shards(capacity_, asked, shards_of(one, capacity_.layouts())) -
                            power_of_shards(capacity_, asked, wanted.instances)) *
                           (1 - policy_.pay_back);
      // While a server changes, its GPUs are at rest, and its load goes elsewhere.
      const Joules cost = setup_.idle_gpu * setup_.gpus_per_server *
                          (setup_.transitions.reshard + setup_.transitions.drain * kMeanDrain);
      if (saving * policy_.shard_period <= cost) continue;
      if (carried_now * (count - 1) / count + spare_above(pool, view) < load) continue;
    }
    // What each server would be, less those that are there already.
    std::vector<ServerShards> missing =
        lay_out(capacity_, wanted.instances, count, setup_.gpus_per_server);
    const ServerView* least = nullptr;
    for (const ServerView& server : one.servers) {
      if (!server.serves) continue;
      const auto same = std::find(missing.begin(), missing.end(), server.shards);
      if (same != missing.end()) {
        missing.erase(same);
      } else if (least == nullptr || server.running < least->running) {
        least = &server;
      }
    }
    if (least != nullptr && !missing.empty())
      orders.shards.push_back({pool, least->id, missing.front()});
  }
  return {};
}

// --- clocks
// ---------------------------------------------------------------------------------------

void FleetController::decide_clocks(const FleetView& view, std::size_t pool,
                                    FleetOrders& orders) const {
  const std::size_t highest = capacity_.clocks() - 1;
  const PoolView& one = view.pools[pool];
  const double all = carried(pool, one);
  if (all <= 0) return;
  const double load = one.load * policy_.margin * one.caution;
  for (const ServerView& server : one.servers) {
    if (!server.serves) continue;
    for (const InstanceView& instance : server.instances) {
      const double share = carries(pool, instance.layout, highest) / all;
      std::size_t clock =
          capacity_.frugal_clock(instance.layout, class_of(pool), load * share).value_or(highest);
      if (policy_.has_emergencies && time_to_clear(pool, instance) > due_within(pool) * kLate)
        clock = highest;
      if (clock != instance.clock) orders.clocks.push_back({pool, server.id, instance.id, clock});
    }
  }
}

}  // namespace perjoule
