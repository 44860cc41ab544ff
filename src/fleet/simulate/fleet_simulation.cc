#include "fleet/simulate/fleet_simulation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fleet/control/fleet_controller.h"
#include "fleet/simulate/request_router.h"
#include "fleet/simulate/simulated_servers.h"

namespace perjoule {
namespace {

constexpr Seconds kBin = Seconds(60);
constexpr Seconds kHour = Seconds(3600);
/// Requests that are not done so long after the last one came are given up.
constexpr Seconds kLongestDrain = Seconds(3600);

Engines engines_of(const FleetSetup& setup, LiveRequests& live, EngineSink& sink) {
  return {setup.models, setup.limits, &live, &sink, setup.gpus_per_server};
}

ControllerSetup controller_setup(const FleetSetup& setup, Watts idle_gpu) {
  ControllerSetup controller;
  controller.capacity = setup.capacity;
  controller.levels = setup.levels;
  controller.transitions = setup.transitions;
  controller.gpus_per_server = setup.gpus_per_server;
  controller.most_servers = setup.most_servers;
  controller.idle_gpu = idle_gpu;
  controller.forecast = setup.forecast;
  controller.peak = setup.peak;
  controller.peak_of_all = setup.peak_of_all;
  return controller;
}

class Simulation final : public EngineSink {
 public:
  Simulation(const FleetSetup& setup, const FleetPolicy& policy)
      : setup_(setup),
        policy_(policy),
        engines_(engines_of(setup, live_, *this)),
        controller_(policy, controller_setup(setup, engines_.idle_gpu())),
        servers_(engines_, controller_, setup.transitions),
        router_(servers_, controller_, policy, live_, *this) {
    report_.policy = policy.name;
    report_.gpus_per_server = setup.gpus_per_server;
    report_.status = setup.models.front()->traits().status;
    report_.origin = setup.models.front()->traits().origin;
  }

  Result<FleetReport> run(RequestStream& stream) {
    PJ_TRY(FleetController::Beginning beginning, controller_.begin());
    servers_.begin(beginning);
    router_.set_spills(std::move(beginning.spills));
    Seconds last;
    for (;;) {
      PJ_TRY(const std::optional<FleetRequest> request, stream.next());
      if (!request) break;
      last = request->arrival;
      PJ_CHECK(tick_until(last));
      arrive(*request);
    }
    const Seconds end = kBin * (std::floor(last / kBin) + 1);
    PJ_CHECK(tick_until(end));
    finish(end);
    while (live_.alive() > 0 && next_tick_ < end + kLongestDrain) PJ_CHECK(tick_until(next_tick_));
    for (const RequestSlot slot : servers_.give_up(next_tick_))
      ended(slot, RequestEnd::kSquashed, next_tick_);
    router_.give_up(next_tick_);
    report_.out_of_order = stream.out_of_order();
    report_.most_live = live_.most();
    report_.spilled = router_.spilled();
    report_.steered = router_.steered();
    report_.moved = router_.moved();
    report_.server_starts = servers_.changes().starts;
    report_.reshards = servers_.changes().reshards;
    report_.clock_changes = servers_.changes().clocks;
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
    router_.loads()[request.pool].ended(in_time);
    live_.release(slot);
  }

 private:
  void arrive(const FleetRequest& came) {
    LiveRequest request;
    request.arrival = came.arrival;
    request.number = number_++;
    request.prompt = came.prompt;
    request.output = came.output;
    request.load_class = load_class(input_class(came.prompt), output_class(came.output));
    request.predicted_class = request.load_class;
    if (policy_.has_pools) {
      request.predicted_class =
          load_class(input_class(came.prompt), setup_.predictor->predict(came));
      request.pool = request.predicted_class;
    }
    report_.mispredicted += request.predicted_class != request.load_class;
    request.deadline = came.arrival + setup_.levels[request.predicted_class].first_token;
    ++report_.classes[request.load_class].arrived;
    bin_tokens_ += static_cast<double>(came.prompt);
    const RequestSlot slot = live_.add(request);
    const bool fits =
        std::any_of(setup_.models.begin(), setup_.models.end(), [&](const auto& model) {
          return came.prompt + came.output <= model->traits().cache_tokens;
        });
    if (came.prompt < 1 || came.output < 1 || !fits) {
      ended(slot, RequestEnd::kFailed, came.arrival);
    } else {
      router_.route(slot, came.arrival);
    }
  }

  Outcome tick_until(Seconds until) {
    while (next_tick_ <= until) {
      PJ_CHECK(tick(next_tick_));
      next_tick_ = policy_.clock_period * static_cast<double>(++ticks_);
    }
    return {};
  }

  Outcome tick(Seconds now) {
    servers_.advance(now);
    for (PoolLoad& load : router_.loads())
      load.close_window(policy_.clock_period, policy_.least_attainment);
    router_.route_returned(now);
    PJ_TRY(FleetOrders orders, controller_.decide(servers_.view(now, router_.loads())));
    servers_.apply(orders, now);
    if (orders.spills) router_.set_spills(std::move(*orders.spills));
    router_.look_after(now);
    router_.route_returned(now);
    if (is_due(now, kBin)) close_bin(now);
    if (setup_.progress && is_due(now, kHour)) setup_.progress(now);
    return {};
  }

  void close_bin(Seconds now) {
    report_.peak_servers = std::max(report_.peak_servers, servers_.on());
    if (now <= bin_begin_ || finished_) return;
    const ServerTally use = servers_.use();
    FleetBin bin;
    bin.start = bin_begin_;
    bin.duration = now - bin_begin_;
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

  void finish(Seconds end) {
    close_bin(end);
    finished_ = true;
    const ServerTally use = servers_.use();
    report_.duration = end;
    report_.busy = use.busy;
    report_.idle = use.idle;
    report_.transition = use.transition;
    report_.mean_servers = use.on / end;
    report_.steps = use.steps;
    report_.preemptions = use.preemptions;
  }

  const FleetSetup& setup_;
  const FleetPolicy& policy_;
  LiveRequests live_;
  Engines engines_;
  FleetController controller_;
  SimulatedServers servers_;
  RequestRouter router_;
  FleetReport report_;
  std::uint64_t number_ = 0;
  Seconds next_tick_;
  std::uint64_t ticks_ = 0;
  Seconds bin_begin_;
  double bin_tokens_ = 0;
  ServerTally before_;
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
