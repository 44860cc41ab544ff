#include "fleet/hands/fleet_servers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace perjoule {
namespace {

/// The first load that is known is taken to have been there for so long, so that nobody mistakes
/// the beginning of our looking for that of the load.
constexpr double kBeforeUs = 600;  // s

bool share_a_gpu(const FleetInstance& a, const FleetInstance& b) {
  return std::any_of(a.gpus.begin(), a.gpus.end(), [&b](const std::string& gpu) {
    return std::find(b.gpus.begin(), b.gpus.end(), gpu) != b.gpus.end();
  });
}

ServerShards shards_of(const std::vector<FleetInstance>& instances, const Division& division,
                       std::size_t layouts) {
  ServerShards shards(layouts, 0);
  for (const std::size_t index : division) ++shards[instances[index].layout];
  return shards;
}

/// Adds instances from `from` on until none is missing, or takes back what it added.
bool complete(const std::vector<FleetInstance>& instances, std::size_t from, ServerShards& missing,
              Division& chosen) {
  if (std::all_of(missing.begin(), missing.end(), [](int count) { return count == 0; }))
    return true;
  for (std::size_t i = from; i < instances.size(); ++i) {
    if (missing[instances[i].layout] == 0) continue;
    const bool is_free = std::none_of(chosen.begin(), chosen.end(), [&](std::size_t other) {
      return share_a_gpu(instances[i], instances[other]);
    });
    if (!is_free) continue;
    --missing[instances[i].layout];
    chosen.push_back(i);
    if (complete(instances, i + 1, missing, chosen)) return true;
    chosen.pop_back();
    ++missing[instances[i].layout];
  }
  return false;
}

}  // namespace

std::string_view name_of(FleetServerState state) {
  switch (state) {
    case FleetServerState::kOff:
      return "off";
    case FleetServerState::kStarting:
      return "starting";
    case FleetServerState::kServing:
      return "serving";
    case FleetServerState::kDraining:
      return "draining";
    case FleetServerState::kStopping:
      return "stopping";
    case FleetServerState::kResharding:
      return "resharding";
  }
  return "";
}

double first_tokens_within(const std::vector<FirstTokenBucket>& buckets, Seconds most) {
  Seconds lower;
  double below = 0;
  for (const FirstTokenBucket& bucket : buckets) {
    if (bucket.upper > most) {
      if (std::isinf(bucket.upper.value())) return below;
      return below + (bucket.count - below) * ((most - lower) / (bucket.upper - lower));
    }
    lower = bucket.upper;
    below = bucket.count;
  }
  return below;
}

FleetServers::FleetServers(std::vector<FleetServer> servers, const Limits& limits)
    : limits_(limits), loads_(limits.pools), met_(limits.pools, 0) {
  for (FleetServer& described : servers) {
    State& one = servers_.emplace_back();
    one.state = described.is_on ? FleetServerState::kServing : FleetServerState::kOff;
    one.division = one.next = described.division;
    one.instances.resize(described.instances.size());
    for (One& instance : one.instances) instance.clock = limits.highest_clock;
    one.described = std::move(described);
  }
}

bool FleetServers::runs(const State& server, std::size_t instance) const {
  return server.state != FleetServerState::kOff &&
         std::find(server.division.begin(), server.division.end(), instance) !=
             server.division.end();
}

bool FleetServers::any_alive(const State& server) const {
  return std::any_of(server.division.begin(), server.division.end(),
                     [&](std::size_t index) { return server.instances[index].is_alive; });
}

bool FleetServers::all_reached(const State& server, const Division& division) const {
  return std::all_of(division.begin(), division.end(),
                     [&](std::size_t index) { return server.instances[index].was_reached; });
}

double FleetServers::requests_of(const State& server) const {
  double requests = 0;
  for (const std::size_t index : server.division) requests += server.instances[index].requests;
  return requests;
}

bool FleetServers::any_reached() const {
  return std::any_of(servers_.begin(), servers_.end(), [](const State& server) {
    return std::any_of(server.instances.begin(), server.instances.end(),
                       [](const One& one) { return one.was_reached; });
  });
}

void FleetServers::read_instance(State& server, std::size_t index, const InstanceReading& reading,
                                 std::vector<FleetNews>& news) {
  One& one = server.instances[index];
  const std::string& name = server.described.instances[index].name;
  one.was_reached = reading.is_reachable;
  if (!runs(server, index)) {
    one.is_alive = one.is_told = false;
    one.misses = 0;
    one.rate = one.waiting_tokens = one.requests = 0;
    return;
  }
  if (!reading.is_reachable) {
    const bool should_answer =
        server.state == FleetServerState::kServing || server.state == FleetServerState::kDraining;
    if (++one.misses < kMostMisses || !should_answer || one.is_told) return;
    one.is_told = true;
    one.is_alive = false;
    one.rate = one.waiting_tokens = one.requests = 0;
    news.push_back(
        {name, fmt::format("not reached {} times, gets no orders: {}", one.misses, reading.failure),
         true});
    return;
  }
  if (one.is_told) news.push_back({name, "is reached again", false});
  if (reading.was_restarted) news.push_back({name, "was restarted", true});
  one.misses = 0;
  one.is_told = false;
  one.is_alive = true;
  one.requests = reading.running + reading.waiting;
  if (reading.mean_prompt) one.mean_prompt = *reading.mean_prompt;
  const double waited = std::exchange(one.waiting_tokens, reading.waiting * one.mean_prompt);
  if (reading.prompt_tokens && reading.since_last > Seconds(0)) {
    is_known_ = true;
    // What came is what was computed and what is waiting more than before.
    one.rate = std::max(0.0, *reading.prompt_tokens + one.waiting_tokens - waited) /
               reading.since_last.value();
  }
  const std::size_t pool = server.described.pool;
  if (reading.first_tokens.empty()) return;
  const double all = std::round(reading.first_tokens.back().count);
  met_[pool] += first_tokens_within(reading.first_tokens, limits_.levels[pool].first_token);
  const double in_time = std::min(all, std::floor(met_[pool] + 1e-9));
  met_[pool] = std::min(met_[pool] - in_time, 1.0);
  for (double i = 0; i < all; ++i) loads_[pool].ended(i < in_time);
}

/// What the readings say of a server's state.
void FleetServers::follow(State& server, Seconds now, std::vector<FleetNews>& news) {
  const std::string& name = server.described.name;
  const auto become = [&](FleetServerState state) {
    server.state = state;
    server.since = now;
  };
  const auto serve = [&] {
    become(FleetServerState::kServing);
    server.failures = 0;
    for (const std::size_t index : server.division) server.instances[index].is_alive = true;
  };
  switch (server.state) {
    case FleetServerState::kOff: {
      const bool answers =
          std::any_of(server.division.begin(), server.division.end(),
                      [&](std::size_t index) { return server.instances[index].was_reached; });
      if (!answers) {
        server.was_silent = true;
      } else if (server.was_silent) {
        serve();
        news.push_back({name, "answers though it was off: taken to serve", false});
      }
      break;
    }
    case FleetServerState::kStarting:
    case FleetServerState::kResharding: {
      const bool has_command = server.next != server.division;
      if (!has_command && all_reached(server, server.division)) {
        serve();
        news.push_back({name, "serves", false});
      } else if (now - server.since > limits_.start_within) {
        become(FleetServerState::kOff);
        ++server.failures;
        server.was_silent = true;
        news.push_back({name,
                        fmt::format("does not answer {} after it was begun: taken to be off",
                                    to_text(limits_.start_within, 3)),
                        true});
      }
      break;
    }
    case FleetServerState::kServing:
    case FleetServerState::kDraining:
    case FleetServerState::kStopping:
      break;
  }
}

std::vector<FleetNews> FleetServers::read(
    Seconds now, const std::vector<std::vector<InstanceReading>>& readings) {
  std::vector<FleetNews> news;
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    for (std::size_t i = 0; i < servers_[s].instances.size(); ++i)
      read_instance(servers_[s], i, readings[s][i], news);
    follow(servers_[s], now, news);
  }
  const Seconds length = now - last_read_;
  const bool has_length = was_read_ && length > Seconds(0);
  was_read_ = true;
  last_read_ = now;
  if (!is_known_ || !has_length) return news;
  const double seconds = has_load_ ? length.value() : kBeforeUs;
  has_load_ = true;
  for (const State& server : servers_) {
    for (const One& one : server.instances)
      loads_[server.described.pool].arrived(one.rate * seconds);
  }
  for (PoolLoad& load : loads_) load.close_window(Seconds(seconds), limits_.least_attainment);
  return news;
}

FleetView FleetServers::view(Seconds now) const {
  FleetView view;
  view.now = now;
  view.pools.resize(limits_.pools);
  for (std::size_t pool = 0; pool < limits_.pools; ++pool) {
    view.pools[pool].load = loads_[pool].rate();
    view.pools[pool].recent_peak = loads_[pool].recent_peak();
    view.pools[pool].caution = loads_[pool].caution();
  }
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    const State& server = servers_[s];
    const bool is_lost = (server.state == FleetServerState::kServing) && !any_alive(server);
    if (server.state == FleetServerState::kOff || is_lost) continue;
    ServerView one;
    one.id = static_cast<std::uint32_t>(s);
    one.serves = server.state == FleetServerState::kServing;
    one.starts = server.state == FleetServerState::kStarting;
    const bool drains = server.state == FleetServerState::kDraining;
    one.reshards =
        server.state == FleetServerState::kResharding || (drains && drains_to_reshard(s));
    one.stops = server.state == FleetServerState::kStopping || (drains && !one.reshards);
    one.running = std::llround(requests_of(server));
    Division counted = server.division;
    if (one.serves) {
      std::erase_if(counted, [&](std::size_t i) { return !server.instances[i].is_alive; });
      for (const std::size_t i : counted) {
        one.instances.push_back({static_cast<std::uint32_t>(i),
                                 server.described.instances[i].layout, server.instances[i].clock,
                                 server.instances[i].waiting_tokens});
      }
    }
    one.shards = shards_of(server.described.instances, counted, limits_.layouts);
    view.pools[server.described.pool].servers.push_back(std::move(one));
  }
  return view;
}

void FleetServers::set(std::size_t server, FleetServerState state, Seconds now) {
  State& one = servers_[server];
  one.state = state;
  one.since = now;
  if (state == FleetServerState::kOff) one.was_silent = false;
  if (state == FleetServerState::kServing) one.next = one.division;
}

void FleetServers::set_next_division(std::size_t server, Division next) {
  servers_[server].next = std::move(next);
}

void FleetServers::take_next_division(std::size_t server) {
  State& one = servers_[server];
  one.division = one.next;
  for (One& instance : one.instances) instance.clock = limits_.highest_clock;
}

void FleetServers::set_clock(std::size_t server, std::size_t instance, std::size_t clock) {
  servers_[server].instances[instance].clock = clock;
}

bool FleetServers::has_drained(std::size_t server, Seconds now) const {
  const State& one = servers_[server];
  return requests_of(one) == 0 || now - one.since >= limits_.drain;
}

std::optional<std::size_t> FleetServers::to_start(std::size_t pool) const {
  std::optional<std::size_t> best;
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    const State& one = servers_[s];
    if (one.described.pool != pool || one.state != FleetServerState::kOff) continue;
    if (!best || one.failures < servers_[*best].failures) best = s;
  }
  return best;
}

std::optional<std::size_t> FleetServers::to_stop(std::size_t pool) const {
  std::optional<std::size_t> best;
  double least = 0;
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    const State& one = servers_[s];
    if (one.described.pool != pool || one.state != FleetServerState::kServing || !any_alive(one))
      continue;
    const double requests = requests_of(one);
    // Of equals the last one, as the first are started first.
    if (best && requests > least) continue;
    best = s;
    least = requests;
  }
  return best;
}

std::optional<Division> FleetServers::division_of(std::size_t server,
                                                  const ServerShards& shards) const {
  const State& one = servers_[server];
  if (shards_of(one.described.instances, one.division, limits_.layouts) == shards)
    return one.division;
  ServerShards missing = shards;
  Division chosen;
  if (!complete(one.described.instances, 0, missing, chosen)) return std::nullopt;
  return chosen;
}

}  // namespace perjoule
