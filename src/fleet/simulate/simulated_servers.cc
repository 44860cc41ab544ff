#include "fleet/simulate/simulated_servers.h"

#include <algorithm>
#include <limits>

namespace perjoule {
namespace {

std::int64_t running_on(const Server& server) {
  std::int64_t running = 0;
  for (const auto& one : server.instances()) running += one->engine().running();
  return running;
}

}  // namespace

SimulatedServers::SimulatedServers(const Engines& engines, const FleetController& controller,
                                   const Transitions& transitions)
    : engines_(engines),
      controller_(controller),
      transitions_(transitions),
      pools_(controller.pools()) {}

void SimulatedServers::begin(const FleetController::Beginning& beginning) {
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    for (const ServerShards& shards : beginning.servers[pool])
      server_for(pool).start(Seconds(0), Seconds(0), shards);
  }
}

void SimulatedServers::advance(Seconds now) {
  for (const auto& server : all_) server->advance(now);
  for (std::vector<std::uint32_t>& pool : pools_)
    std::erase_if(pool, [this](std::uint32_t id) { return !all_[id]->is_on(); });
}

FleetView SimulatedServers::view(Seconds now, const std::vector<PoolLoad>& loads) const {
  FleetView view;
  view.now = now;
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    PoolView one{loads[pool].rate(), loads[pool].recent_peak(), loads[pool].caution(), {}};
    for (const std::uint32_t id : pools_[pool]) {
      const Server& server = *all_[id];
      ServerView seen;
      seen.id = id;
      seen.serves = server.serves();
      seen.starts = server.state() == ServerState::kStarting;
      seen.stops = server.will_stop();
      seen.reshards = !seen.serves && !seen.starts && !seen.stops;
      seen.running = running_on(server);
      seen.shards = server.shards();
      for (std::uint32_t i = 0; seen.serves && i < server.instances().size(); ++i) {
        const ServerInstance& instance = *server.instances()[i];
        seen.instances.push_back({i, instance.layout(), instance.wanted_clock(),
                                  static_cast<double>(instance.engine().waiting_tokens())});
      }
      one.servers.push_back(std::move(seen));
    }
    view.pools.push_back(std::move(one));
  }
  return view;
}

void SimulatedServers::apply(const FleetOrders& orders, Seconds now) {
  for (const ServersOrder& order : orders.servers) {
    if (order.more > 0) add(order.pool, order.more, now, order.ready_at);
    if (order.more < 0) remove(order.pool, -order.more, now);
  }
  for (const ShardsOrder& order : orders.shards) {
    all_[order.server]->drain(now, now + transitions_.drain, order.shards, transitions_.reshard);
    ++changes_.reshards;
  }
  for (const ClockOrder& order : orders.clocks) {
    Server& server = *all_[order.server];
    // It may have begun to drain by another order.
    if (server.serves()) set_clock(*server.instances()[order.instance], order.clock, now);
  }
}

void SimulatedServers::set_clock(ServerInstance& one, std::size_t clock, Seconds now) {
  if (one.wanted_clock() == clock) return;
  ++changes_.clocks;
  one.set_clock(clock, now + transitions_.clock);
}

Server& SimulatedServers::server_for(std::size_t pool) {
  auto off =
      std::find_if(all_.begin(), all_.end(), [](const auto& server) { return !server->is_on(); });
  if (off == all_.end()) off = all_.insert(off, std::make_unique<Server>(engines_));
  pools_[pool].push_back(static_cast<std::uint32_t>(off - all_.begin()));
  return **off;
}

void SimulatedServers::add(std::size_t pool, int count, Seconds now, Seconds ready_at) {
  // First those that were about to stop.
  for (const std::uint32_t id : pools_[pool]) {
    Server& server = *all_[id];
    if (count == 0) return;
    if (!server.will_stop()) continue;
    server.start(now, now, server.shards());
    --count;
  }
  ServerShards shards(engines_.models.size(), 0);
  shards.back() = engines_.gpus_per_server / engines_.models.back()->traits().layout.gpus();
  // As its neighbours are divided, so that it carries what is expected of it.
  for (const std::uint32_t id : pools_[pool]) {
    if (all_[id]->serves()) shards = all_[id]->shards();
  }
  for (; count > 0; --count) {
    server_for(pool).start(now, ready_at, shards);
    ++changes_.starts;
  }
}

void SimulatedServers::remove(std::size_t pool, int count, Seconds now) {
  std::vector<Server*> candidates;
  for (const std::uint32_t id : pools_[pool])
    if (!all_[id]->will_stop()) candidates.push_back(all_[id].get());
  // Those that have not begun to serve, then the ones with least to do.
  std::stable_sort(candidates.begin(), candidates.end(), [](const Server* a, const Server* b) {
    if (a->serves() != b->serves()) return !a->serves();
    return running_on(*a) < running_on(*b);
  });
  candidates.resize(std::min(candidates.size(), static_cast<std::size_t>(count)));
  for (Server* const server : candidates)
    server->drain(now, now + transitions_.drain, std::nullopt, Seconds(0));
}

ServerInstance* SimulatedServers::choose(std::size_t pool, Seconds now,
                                         const LiveRequest& request) {
  ServerInstance* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const std::uint32_t id : pools_[pool]) {
    Server& server = *all_[id];
    server.advance(now);
    if (!server.serves()) continue;
    for (const auto& one : server.instances()) {
      const Instance& engine = one->engine();
      if (!engine.fits(request.prompt, request.output)) continue;
      const double cost =
          engine.ahead() / controller_.carries(pool, one->layout(), one->wanted_clock());
      if (cost >= least) continue;
      least = cost;
      best = one.get();
    }
  }
  return best;
}

Seconds SimulatedServers::time_to_clear(std::size_t pool, const ServerInstance& one) const {
  return controller_.time_to_clear(pool, {0, one.layout(), one.wanted_clock(),
                                          static_cast<double>(one.engine().waiting_tokens())});
}

std::vector<RequestSlot> SimulatedServers::take_returned() {
  std::vector<RequestSlot> all;
  for (const auto& server : all_) {
    const std::vector<RequestSlot> some = server->take_returned();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::vector<RequestSlot> SimulatedServers::give_up(Seconds now) {
  std::vector<RequestSlot> all = take_returned();
  for (const auto& server : all_) {
    for (const auto& one : server->instances()) {
      const std::vector<RequestSlot> some = one->engine().give_back_all(now);
      all.insert(all.end(), some.begin(), some.end());
    }
  }
  return all;
}

ServerTally SimulatedServers::use() const {
  ServerTally sum;
  for (const auto& server : all_) {
    const ServerTally use = server->use();
    sum.busy += use.busy;
    sum.idle += use.idle;
    sum.transition += use.transition;
    sum.on += use.on;
    sum.steps += use.steps;
    sum.preemptions += use.preemptions;
  }
  return sum;
}

int SimulatedServers::on() const {
  return static_cast<int>(
      std::count_if(all_.begin(), all_.end(), [](const auto& server) { return server->is_on(); }));
}

}  // namespace perjoule
