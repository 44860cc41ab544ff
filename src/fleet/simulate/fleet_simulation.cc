#include "fleet/simulate/fleet_simulation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "fleet/control/shard_plan.h"
#include "fleet/simulate/fleet_pool.h"
#include "fleet/simulate/pool_servers.h"
#include "fleet/simulate/server.h"

namespace perjoule {
namespace {

constexpr double kBin = 60;
constexpr double kHour = 3600;
/// Requests that are not done so long after the last one came are given up.
constexpr double kLongestDrain = 3600;
/// Shares of the time to the first token that a queue may need: until help, and until it is split.
constexpr double kLate = 0.5;
constexpr double kVeryLate = 2;

class Simulation final : public EngineSink {
 public:
  Simulation(const FleetSetup& setup, const FleetPolicy& policy)
      : setup_(setup), policy_(policy), capacity_(*setup.capacity) {
    engines_ = {setup.models, setup.limits, &live_, this, setup.gpus_per_server};
    report_.policy = policy.name;
    report_.gpus_per_server = setup.gpus_per_server;
    report_.status = setup.models.front()->traits().status;
    report_.origin = setup.models.front()->traits().origin;
    if (!policy.has_pools) {
      pools_.emplace_back(kMixedClass, capacity_);
    } else {
      for (std::size_t i = 0; i < kLoadClasses; ++i) pools_.emplace_back(i, capacity_);
    }
  }

  Result<FleetReport> run(RequestStream& stream) {
    PJ_CHECK(begin());
    double last = 0;
    for (;;) {
      PJ_TRY(const std::optional<FleetRequest> request, stream.next());
      if (!request) break;
      last = request->arrival.value();
      PJ_CHECK(tick_until(last));
      arrive(*request);
    }
    const double end = kBin * (std::floor(last / kBin) + 1);
    PJ_CHECK(tick_until(end));
    finish(end);
    while (live_.alive() > 0 && next_tick_ < end + kLongestDrain) PJ_CHECK(tick_until(next_tick_));
    give_up_rest();
    report_.out_of_order = stream.out_of_order();
    report_.most_live = live_.most();
    return std::move(report_);
  }

  void gaps(std::size_t load_class, Seconds gap, std::int64_t requests) override {
    report_.classes[load_class].tbt.add(gap.value(), static_cast<std::uint64_t>(requests));
  }

  void ended(RequestSlot slot, RequestEnd end, Seconds when) override {
    const LiveRequest& request = live_[slot];
    ClassTally& tally = report_.classes[request.load_class];
    bool in_time = false;
    if (end == RequestEnd::kDone) {
      const ServiceLevel& level = setup_.levels[request.load_class];
      const Seconds ttft = request.first_token - request.arrival;
      const auto gaps = static_cast<double>(std::max<std::int64_t>(1, request.output - 1));
      const bool first = ttft <= level.first_token;
      const bool between = (when - request.first_token) / gaps <= level.between_tokens;
      in_time = first && between;
      const auto tokens = static_cast<std::uint64_t>(request.output);
      ++tally.done;
      tally.first_in_time += first;
      tally.gaps_in_time += between;
      tally.in_time += in_time;
      tally.output_tokens += tokens;
      tally.good_tokens += in_time ? tokens : 0;
      tally.ttft.add(ttft.value());
      tally.latency.add((when - request.arrival).value());
    } else {
      ++(end == RequestEnd::kSquashed ? tally.squashed : tally.failed);
    }
    pools_[request.pool].ended(in_time);
    live_.release(slot);
  }

 private:
  // --- requests -------------------------------------------------------------------------------

  void arrive(const FleetRequest& came) {
    LiveRequest request;
    request.arrival = came.arrival;
    request.number = number_++;
    request.prompt = came.prompt;
    request.output = came.output;
    request.load_class = load_class(input_class(came.prompt), output_class(came.output));
    request.predicted_class = request.load_class;
    if (policy_.has_pools)
      request.predicted_class =
          load_class(input_class(came.prompt), setup_.predictor->predict(came));
    report_.mispredicted += request.predicted_class != request.load_class;
    request.deadline = came.arrival + setup_.levels[request.predicted_class].first_token;
    ++report_.classes[request.load_class].arrived;
    bin_tokens_ += static_cast<double>(came.prompt);
    const std::size_t pool = policy_.has_pools ? request.predicted_class : 0;
    request.pool = static_cast<std::uint16_t>(pool);
    const RequestSlot slot = live_.add(request);
    const bool fits =
        std::any_of(setup_.models.begin(), setup_.models.end(), [&](const auto& model) {
          return came.prompt + came.output <= model->traits().cache_tokens;
        });
    if (came.prompt < 1 || came.output < 1 || !fits) {
      ended(slot, RequestEnd::kFailed, came.arrival);
      return;
    }
    route(slot, came.arrival);
  }

  /// The class's pool, or the planned larger one, or, where none of it serves, the next larger one
  /// that does.
  void route(RequestSlot slot, Seconds now) {
    const std::size_t own = live_[slot].pool;
    std::size_t first = own;
    // Spills go to larger pools, so that this ends.
    while (pools_[first].spills_next()) first = pools_[first].spill->to;
    std::size_t taken = first;
    ServerInstance* one = pools_[first].choose(now, live_[slot]);
    for (std::size_t pool = 0; one == nullptr && pool < pools_.size(); ++pool) {
      if (pool == first || !dominates(static_cast<LoadClass>(pool), live_[slot].predicted_class))
        continue;
      one = pools_[pool].choose(now, live_[slot]);
      taken = pool;
    }
    // Better a pool of shorter ones than none.
    for (std::size_t pool = pools_.size(); one == nullptr && pool-- > 0;) {
      one = pools_[pool].choose(now, live_[slot]);
      taken = pool;
    }
    if (one == nullptr) {
      pools_[first].backlog.push_back(slot);
      return;
    }
    if (policy_.has_emergencies &&
        pools_[taken].time_to_clear(*one) > due_within(pools_[taken]) * kLate) {
      if (ServerInstance* const other = shortest(slot, taken, now.value())) {
        ++report_.steered;
        one = other;
      }
    }
    report_.spilled += taken != own;
    pools_[taken].arrived(live_[slot].prompt);
    live_[slot].pool = static_cast<std::uint16_t>(taken);
    one->engine().take(slot);
  }

  // --- time -----------------------------------------------------------------------------------

  Outcome tick_until(double until) {
    while (next_tick_ <= until) {
      PJ_CHECK(tick(next_tick_));
      next_tick_ = policy_.clock_period.value() * static_cast<double>(++ticks_);
    }
    return {};
  }

  Outcome tick(double now) {
    for (const auto& server : servers_) server->advance(Seconds(now));
    for (FleetPool& pool : pools_)
      pool.close_window(policy_.clock_period, policy_.least_attainment);
    return_requests(now);
    for (FleetPool& pool : pools_)
      std::erase_if(pool.servers, [](const Server* server) { return !server->is_on(); });
    if (policy_.scales_instances) PJ_CHECK(control_instances(now));
    if (policy_.scales_shards && now > 0) PJ_CHECK(control_shards(now));
    for (FleetPool& pool : pools_) {
      if (policy_.scales_clocks) control_clocks(pool, now);
      look_after_queues(pool, now);
    }
    return_requests(now);
    if (is_due(now, Seconds(kBin))) close_bin(now);
    if (setup_.progress && is_due(now, Seconds(kHour))) setup_.progress(Seconds(now));
    return {};
  }

  bool is_due(double now, Seconds period) const {
    const double since = std::fmod(now, period.value());
    return since < 1e-6 || since > period.value() - 1e-6;
  }

  /// What draining servers gave back, and what came while nothing served.
  void return_requests(double now) {
    for (const auto& server : servers_)
      for (const RequestSlot slot : server->take_returned()) route(slot, Seconds(now));
    for (FleetPool& pool : pools_) {
      for (std::size_t left = pool.backlog.size(); left > 0; --left) {
        const RequestSlot slot = pool.backlog.front();
        pool.backlog.pop_front();
        if (is_given_up(slot, now)) {
          ended(slot, RequestEnd::kSquashed, Seconds(now));
        } else {
          route(slot, Seconds(now));
        }
      }
    }
  }

  bool is_given_up(RequestSlot slot, double now) const {
    const LiveRequest& request = live_[slot];
    return std::isnan(request.first_token.value()) &&
           Seconds(now) - request.arrival > policy_.squash_after;
  }

  // --- controllers ----------------------------------------------------------------------------

  Outcome begin() {
    ClassLoads expected = policy_.scales_instances
                              ? setup_.forecast->peak(Seconds(0), policy_.instance_period)
                              : setup_.peak;
    if (!policy_.has_pools && !policy_.scales_instances) {
      expected = {};
      expected.back() = setup_.peak_of_all;
    }
    apply(plan(expected), Seconds(0), Seconds(0), true);
    for (FleetPool& pool : pools_) {
      pool.shards = default_shards(pool);
      if (policy_.scales_shards) {
        const double load =
            policy_.has_pools ? filled_load(pool) : total(expected) * policy_.margin;
        PJ_CHECK(choose_shards(pool, load));
      }
      const auto laid = lay_out(capacity_, pool.shards, static_cast<int>(pool.servers.size()),
                                setup_.gpus_per_server);
      for (std::size_t i = 0; i < pool.servers.size(); ++i)
        pool.servers[i]->start(Seconds(0), Seconds(0), laid[i]);
    }
    return {};
  }

  static double total(const ClassLoads& loads) {
    double sum = 0;
    for (const double load : loads) sum += load;
    return sum;
  }

  /// What a server of a pool's class carries at the highest clock.
  double per_server(std::size_t pool_class) const {
    const std::size_t highest = capacity_.clocks() - 1;
    double most = 0;
    for (std::size_t layout = 0; layout < capacity_.layouts(); ++layout) {
      if (!policy_.scales_shards && layout + 1 != capacity_.layouts()) continue;
      const int count = setup_.gpus_per_server / capacity_.gpus(layout);
      most = std::max(most, count * capacity_.highest_load(layout, highest, pool_class));
    }
    return most;
  }

  InstancePlan plan(ClassLoads expected) const {
    for (double& load : expected) load *= policy_.margin;
    if (!policy_.has_pools) {
      InstancePlan all;
      const double one = per_server(kMixedClass);
      all.servers[0] =
          one > 0 ? static_cast<int>(std::ceil(total(expected) / one - 0.01)) : setup_.most_servers;
      all.servers[0] = std::max(1, all.servers[0]);
      return all;
    }
    ClassLoads of_server = {};
    for (std::size_t i = 0; i < kLoadClasses; ++i) of_server[i] = per_server(i);
    return plan_instances(expected, of_server, per_server(kMixedClass));
  }

  double filled_load(const FleetPool& pool) const {
    return plan_.filled[pool.pool_class()] * per_server(pool.pool_class());
  }

  /// Instances over all GPUs of each server.
  std::vector<int> default_shards(const FleetPool& pool) const {
    std::vector<int> shards(capacity_.layouts(), 0);
    shards.back() = static_cast<int>(pool.servers.size()) * setup_.gpus_per_server /
                    capacity_.gpus(capacity_.layouts() - 1);
    return shards;
  }

  Outcome control_instances(double now) {
    ClassLoads came = {};
    for (std::size_t i = 0; i < pools_.size(); ++i) came[i] = pools_[i].load();
    setup_.forecast->observe(Seconds(now), came);
    const double period = policy_.instance_period.value();
    const double lead = policy_.clock_period.value() *
                        std::ceil(setup_.transitions.start.value() / policy_.clock_period.value());
    // Servers are started before the period in which they are needed, and stopped at its begin.
    if (is_due(now + lead, policy_.instance_period)) {
      next_plan_ = plan(setup_.forecast->peak(Seconds(now + lead), Seconds(now + lead + period)));
      apply(*next_plan_, Seconds(now), Seconds(now) + setup_.transitions.start, false);
    }
    if (now > 0 && is_due(now, policy_.instance_period) && next_plan_)
      apply(*next_plan_, Seconds(now), Seconds(now), true);
    return {};
  }

  /// Brings each pool to the plan's servers: more at once, fewer only when `may_stop`.
  void apply(const InstancePlan& wanted, Seconds now, Seconds ready_at, bool may_stop) {
    if (may_stop) {
      plan_ = wanted;
      for (std::size_t i = 0; i < pools_.size(); ++i) pools_[i].spill = wanted.spill[i];
    }
    for (std::size_t i = 0; i < pools_.size(); ++i) {
      const PoolServers servers(servers_, engines_, pools_[i], i, setup_.transitions);
      const int there = servers.active();
      if (there < wanted.servers[i]) {
        report_.server_starts += static_cast<std::uint64_t>(
            servers.add(wanted.servers[i] - there, setup_.most_servers, now, ready_at, ticks_ > 0));
      } else if (may_stop && there > wanted.servers[i]) {
        servers.remove(there - wanted.servers[i], now);
      }
    }
  }

  Outcome choose_shards(FleetPool& pool, double load) {
    const auto servers = static_cast<int>(pool.servers.size());
    if (servers == 0) return {};
    PJ_TRY(const ShardPlan plan, plan_shards(capacity_, question(pool, servers, load)));
    pool.shards = plan.instances;
    return {};
  }

  ShardQuestion question(const FleetPool& pool, int servers, double load) const {
    return {.pool_class = pool.pool_class(),
            .gpus = servers * setup_.gpus_per_server,
            .load = load,
            .idle_gpu = engines_.idle_gpu(),
            .at_highest_clock = !policy_.scales_clocks};
  }

  Outcome control_shards(double now) {
    for (std::size_t i = 0; i < pools_.size(); ++i) {
      FleetPool& pool = pools_[i];
      const PoolServers servers(servers_, engines_, pool, i, setup_.transitions);
      const int serving = servers.serving();
      const double load = pool.recent_peak() * policy_.margin * pool.caution();
      const bool carries = servers.carried() >= load;
      // At its time, or when what is there is too little.
      if (serving == 0 || (carries && !is_due(now, policy_.shard_period))) continue;
      // Loads that differ little have the same answer, which is kept.
      const double step = std::pow(1.05, std::ceil(std::log(std::max(load, 1.0)) / std::log(1.05)));
      PJ_TRY(const ShardPlan wanted, plan_shards(capacity_, question(pool, serving, step)));
      const ShardQuestion asked = question(pool, serving, load);
      const Watts as_it_is = power_of_shards(capacity_, asked, servers.shards());
      if (carries) {
        // While a server changes, it is at rest for so long, and its load goes elsewhere.
        const Watts saving = (as_it_is - power_of_shards(capacity_, asked, wanted.instances)) *
                             (1 - policy_.pay_back);
        const Joules cost = engines_.idle_gpu() * setup_.gpus_per_server *
                            (setup_.transitions.reshard + setup_.transitions.drain * 0.5);
        if (saving * policy_.shard_period <= cost) continue;
        // Nor may it take what the others cannot carry meanwhile.
        if (servers.carried() * (serving - 1) / serving + spare_above(i) < load) continue;
      }
      pool.shards = wanted.instances;
      report_.reshards += servers.change_one(wanted.instances, Seconds(now)) ? 1 : 0;
    }
    return {};
  }

  /// What larger pools could carry beside their own loads, prompt tokens a second.
  double spare_above(std::size_t index) {
    double spare = 0;
    for (std::size_t i = 0; i < pools_.size(); ++i) {
      if (i == index || !policy_.has_pools ||
          !dominates(static_cast<LoadClass>(i), static_cast<LoadClass>(index)))
        continue;
      const PoolServers servers(servers_, engines_, pools_[i], i, setup_.transitions);
      spare += std::max(0.0, servers.carried() - pools_[i].recent_peak() * policy_.margin);
    }
    return spare;
  }

  void control_clocks(FleetPool& pool, double now) {
    const std::size_t highest = capacity_.clocks() - 1;
    double carried = 0;
    for (const Server* const server : pool.servers) {
      if (!server->serves()) continue;
      for (const auto& one : server->instances()) carried += pool.carries(one->layout(), highest);
    }
    if (carried <= 0) return;
    const double load = pool.load() * policy_.margin * pool.caution();
    for (Server* const server : pool.servers) {
      if (!server->serves()) continue;
      for (const auto& one : server->instances()) {
        const double share = pool.carries(one->layout(), highest) / carried;
        const auto clock = capacity_.frugal_clock(one->layout(), pool.pool_class(), load * share);
        set_clock(*one, clock.value_or(highest), now);
      }
    }
  }

  void set_clock(ServerInstance& one, std::size_t clock, double now) {
    if (one.wanted_clock() == clock) return;
    ++report_.clock_changes;
    one.set_clock(clock, Seconds(now) + setup_.transitions.clock);
  }

  // --- emergencies ----------------------------------------------------------------------------

  Seconds due_within(const FleetPool& pool) const {
    if (pool.pool_class() != kMixedClass) return setup_.levels[pool.pool_class()].first_token;
    Seconds least = setup_.levels.front().first_token;
    for (const ServiceLevel& level : setup_.levels) least = std::min(least, level.first_token);
    return least;
  }

  void look_after_queues(FleetPool& pool, double now) {
    for (Server* const server : pool.servers) {
      for (const auto& one : server->instances()) {
        Instance& engine = one->engine();
        if (policy_.has_emergencies) help(pool, *one, now);
        if (policy_.scales_clocks || policy_.has_emergencies) look_after_outliving(*one, now);
        const bool any_late = std::any_of(engine.queue().begin(), engine.queue().end(),
                                          [&](RequestSlot slot) { return is_given_up(slot, now); });
        if (!any_late) continue;
        for (const RequestSlot slot : engine.give_back_waiting()) {
          if (is_given_up(slot, now)) {
            ended(slot, RequestEnd::kSquashed, Seconds(now));
          } else {
            engine.take(slot);
          }
        }
      }
    }
  }

  void help(FleetPool& pool, ServerInstance& one, double now) {
    const Seconds due = due_within(pool);
    const Seconds clears = pool.time_to_clear(one);
    one.engine().order_by_deadline(clears > due * kLate);
    if (clears > due * kLate && policy_.scales_clocks) set_clock(one, capacity_.clocks() - 1, now);
    if (clears <= due * kVeryLate) return;
    // Half of those that wait, the ones whose deadline is last, go where the queue is shorter.
    const std::vector<RequestSlot> waiting = one.engine().give_back_waiting();
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      const RequestSlot slot = waiting[i];
      ServerInstance* other =
          i < waiting.size() / 2 ? nullptr : shortest(slot, live_[slot].pool, now);
      if (other != nullptr && other != &one) {
        ++report_.steered;
        other->engine().take(slot);
      } else {
        one.engine().take(slot);
      }
    }
  }

  /// Among the pool's own and all larger ones that are not late themselves.
  ServerInstance* shortest(RequestSlot slot, std::size_t own, double now) {
    ServerInstance* best = nullptr;
    Seconds least = due_within(pools_[own]) * kLate;
    for (std::size_t i = 0; i < pools_.size(); ++i) {
      if (policy_.has_pools && !dominates(static_cast<LoadClass>(i), static_cast<LoadClass>(own)))
        continue;
      ServerInstance* const one = pools_[i].choose(Seconds(now), live_[slot]);
      if (one == nullptr || pools_[i].time_to_clear(*one) >= least) continue;
      least = pools_[i].time_to_clear(*one);
      best = one;
    }
    return best;
  }

  /// Requests that have more tokens than their class was said to have.
  void look_after_outliving(ServerInstance& one, double now) {
    if (policy_.outliving == Outliving::kKeep || !policy_.has_pools) return;
    std::vector<RequestSlot> outlived;
    one.engine().for_each_decoding([&](RequestSlot slot, std::int64_t tokens) {
      const LiveRequest& request = live_[slot];
      const auto bound = output_bound(output_of(request.predicted_class));
      if (bound && tokens >= *bound && !request.was_moved) outlived.push_back(slot);
    });
    for (const RequestSlot slot : outlived) {
      LiveRequest& request = live_[slot];
      if (policy_.outliving == Outliving::kSpeedUp) {
        if (policy_.scales_clocks) set_clock(one, capacity_.clocks() - 1, now);
        continue;
      }
      const LoadClass larger = load_class(input_of(request.predicted_class),
                                          output_of(request.predicted_class) + std::size_t{1});
      ServerInstance* const other = pools_[larger].choose(Seconds(now), request);
      if (other == nullptr || other == &one) continue;
      request.was_moved = true;
      ++report_.moved;
      one.engine().give_back(slot);
      request.pool = larger;
      other->engine().take(slot);
    }
  }

  // --- the report -----------------------------------------------------------------------------

  ServerUse use_of_all() const {
    ServerUse sum;
    for (const auto& server : servers_) {
      const ServerUse use = server->use();
      sum.busy += use.busy;
      sum.idle += use.idle;
      sum.transition += use.transition;
      sum.on += use.on;
      sum.steps += use.steps;
      sum.preemptions += use.preemptions;
    }
    return sum;
  }

  void close_bin(double now) {
    const auto on = std::count_if(servers_.begin(), servers_.end(),
                                  [](const auto& server) { return server->is_on(); });
    report_.peak_servers = std::max(report_.peak_servers, static_cast<int>(on));
    if (now <= bin_begin_ || finished_) return;
    const ServerUse use = use_of_all();
    FleetBin bin;
    bin.start = Seconds(bin_begin_);
    bin.duration = Seconds(now - bin_begin_);
    bin.energy =
        use.busy + use.idle + use.transition - (before_.busy + before_.idle + before_.transition);
    bin.servers = (use.on - before_.on) / bin.duration;
    bin.prompt_rate = bin_tokens_ / bin.duration.value();
    bin.live = static_cast<std::int64_t>(live_.alive());
    report_.bins.push_back(bin);
    before_ = use;
    bin_begin_ = now;
    bin_tokens_ = 0;
  }

  void finish(double end) {
    close_bin(end);
    finished_ = true;
    const ServerUse use = use_of_all();
    report_.duration = Seconds(end);
    report_.busy = use.busy;
    report_.idle = use.idle;
    report_.transition = use.transition;
    report_.mean_servers = use.on.value() / end;
    report_.steps = use.steps;
    report_.preemptions = use.preemptions;
  }

  void give_up_rest() {
    const Seconds now(next_tick_);
    for (const auto& server : servers_) {
      for (const auto& one : server->instances())
        for (const RequestSlot slot : one->engine().give_back_all(now))
          ended(slot, RequestEnd::kSquashed, now);
      for (const RequestSlot slot : server->take_returned())
        ended(slot, RequestEnd::kSquashed, now);
    }
    for (FleetPool& pool : pools_) {
      for (const RequestSlot slot : pool.backlog) ended(slot, RequestEnd::kSquashed, now);
      pool.backlog.clear();
    }
  }

  const FleetSetup& setup_;
  const FleetPolicy& policy_;
  const EngineCapacity& capacity_;
  Engines engines_;
  LiveRequests live_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<FleetPool> pools_;
  InstancePlan plan_;
  std::optional<InstancePlan> next_plan_;
  FleetReport report_;
  std::uint64_t number_ = 0;
  double next_tick_ = 0;
  std::uint64_t ticks_ = 0;
  double bin_begin_ = 0;
  double bin_tokens_ = 0;
  ServerUse before_;
  bool finished_ = false;
};

/// Clocks are numbered alike in both.
Outcome check_clocks(const FleetSetup& setup) {
  for (const auto& model : setup.models) {
    const std::vector<double>& clocks = model->traits().clocks_mhz;
    bool same = clocks.size() == setup.capacity->clocks();
    for (std::size_t i = 0; same && i < clocks.size(); ++i)
      same = clocks[i] == setup.capacity->clock_mhz(i);
    if (!same) {
      return Error::invalid_argument("the profile is not of the clocks that the engines have",
                                     "make it of these engines with perjoule fleet profile");
    }
  }
  return {};
}

/// Whether anything can be in time at all: of the one pool, or of any class.
Outcome check_service(const FleetSetup& setup, const FleetPolicy& policy) {
  const EngineCapacity& capacity = *setup.capacity;
  for (std::size_t pool = policy.has_pools ? 0 : kMixedClass; pool < kPoolClasses; ++pool) {
    for (std::size_t layout = 0; layout < capacity.layouts(); ++layout)
      if (capacity.highest_load(layout, capacity.clocks() - 1, pool) > 0) return {};
  }
  return Error::out_of_range(
      policy.name + ": no layout meets the service levels at any load that was profiled",
      "a later deadline, or a lower attainment");
}

}  // namespace

Result<FleetReport> simulate_fleet(const FleetSetup& setup, const FleetPolicy& policy,
                                   RequestStream& stream) {
  if (setup.models.empty() || setup.capacity == nullptr ||
      setup.capacity->layouts() != setup.models.size())
    return Error::invalid_argument("a fleet needs engines and what each of them can carry");
  if (policy.scales_instances && setup.forecast == nullptr)
    return Error::invalid_argument(policy.name + " needs a forecast of the load");
  if (policy.has_pools && setup.predictor == nullptr)
    return Error::invalid_argument(policy.name + " needs a predictor of output lengths");
  PJ_CHECK(check_clocks(setup));
  PJ_CHECK(check_service(setup, policy));
  Simulation simulation(setup, policy);
  return simulation.run(stream);
}

}  // namespace perjoule
