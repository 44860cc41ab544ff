#include "fleet/simulate/pool_servers.h"

#include <algorithm>

namespace perjoule {
namespace {

std::int64_t running_on(const Server& server) {
  std::int64_t running = 0;
  for (const auto& one : server.instances()) running += one->engine().running();
  return running;
}

}  // namespace

int PoolServers::active() const {
  return static_cast<int>(
      std::count_if(pool_.servers.begin(), pool_.servers.end(),
                    [](const Server* server) { return server->is_on() && !server->will_stop(); }));
}

int PoolServers::serving() const {
  return static_cast<int>(std::count_if(pool_.servers.begin(), pool_.servers.end(),
                                        [](const Server* server) { return server->serves(); }));
}

std::vector<int> PoolServers::shards() const {
  std::vector<int> counts(engines_.models.size(), 0);
  for (const Server* const server : pool_.servers) {
    if (!server->serves()) continue;
    for (const auto& one : server->instances()) ++counts[one->layout()];
  }
  return counts;
}

double PoolServers::carried() const {
  const std::vector<int> counts = shards();
  double load = 0;
  for (std::size_t layout = 0; layout < counts.size(); ++layout)
    load += counts[layout] * pool_.carries(layout, engines_.models[layout]->highest_clock());
  return load;
}

int PoolServers::add(int count, int most, Seconds now, Seconds ready_at, bool started) const {
  for (Server* const server : pool_.servers) {
    if (count == 0) return 0;
    if (!server->will_stop()) continue;
    server->start(now, now, server->shards());
    --count;
  }
  ServerShards whole(engines_.models.size(), 0);
  whole.back() = engines_.gpus_per_server / engines_.models.back()->traits().layout.gpus();
  int begun = 0;
  for (; count > 0; --count) {
    const auto off =
        std::find_if(all_.begin(), all_.end(), [](const auto& server) { return !server->is_on(); });
    // Before the first tick none is on, as all of them are still to be laid out.
    const bool may_reuse = started && off != all_.end();
    if (!may_reuse && static_cast<int>(all_.size()) >= most) return begun;
    Server& server = may_reuse ? **off : *all_.emplace_back(std::make_unique<Server>(engines_));
    server.pool = index_;
    pool_.servers.push_back(&server);
    if (!started) continue;
    // As its neighbours are divided, so that it carries what is expected of it.
    const auto like = std::find_if(pool_.servers.begin(), pool_.servers.end(),
                                   [](const Server* other) { return other->serves(); });
    server.start(now, ready_at, like == pool_.servers.end() ? whole : (*like)->shards());
    ++begun;
  }
  return begun;
}

void PoolServers::remove(int count, Seconds now) const {
  std::vector<Server*> candidates;
  for (Server* const server : pool_.servers)
    if (server->is_on() && !server->will_stop()) candidates.push_back(server);
  std::stable_sort(candidates.begin(), candidates.end(), [](const Server* a, const Server* b) {
    if (a->serves() != b->serves()) return !a->serves();
    return running_on(*a) < running_on(*b);
  });
  for (int i = 0; i < count && i < static_cast<int>(candidates.size()); ++i)
    candidates[static_cast<std::size_t>(i)]->drain(now, now + transitions_.drain, std::nullopt,
                                                   Seconds(0));
}

bool PoolServers::change_one(const std::vector<int>& wanted, Seconds now) const {
  for (const Server* const server : pool_.servers) {
    const bool is_at_it = server->state() == ServerState::kResharding ||
                          (server->state() == ServerState::kDraining && !server->will_stop());
    if (is_at_it) return false;
  }
  // What each server would be, and which of those are there already.
  std::vector<ServerShards> missing =
      lay_out(pool_.capacity(), wanted, serving(), engines_.gpus_per_server);
  std::vector<Server*> others;
  for (Server* const server : pool_.servers) {
    if (!server->serves()) continue;
    const auto same = std::find(missing.begin(), missing.end(), server->shards());
    if (same == missing.end()) {
      others.push_back(server);
    } else {
      missing.erase(same);
    }
  }
  if (others.empty() || missing.empty()) return false;
  Server* const least = *std::min_element(
      others.begin(), others.end(),
      [](const Server* a, const Server* b) { return running_on(*a) < running_on(*b); });
  least->drain(now, now + transitions_.drain, missing.front(), transitions_.reshard);
  return true;
}

}  // namespace perjoule
