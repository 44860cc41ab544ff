#include "fleet/hands/fleet_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace perjoule {
namespace {

using Kind = FleetEvent::Kind;
using How = FleetEvent::Result;

/// How often a server is tried to be brought back to what was found.
constexpr int kLastTries = 2;

Kind kind_of(ServerDeed deed) {
  switch (deed) {
    case ServerDeed::kStart:
      return Kind::kStart;
    case ServerDeed::kDrain:
      return Kind::kDrain;
    case ServerDeed::kStop:
      return Kind::kStop;
    case ServerDeed::kReshard:
      return Kind::kReshard;
  }
  return Kind::kNote;
}

}  // namespace

FleetLoop::FleetLoop(FleetServers& servers, const FleetMind& mind, FleetHands& hands,
                     bool sets_clocks)
    : servers_(servers), mind_(mind), hands_(hands), sets_clocks_(sets_clocks) {
  for (std::size_t s = 0; s < servers.size(); ++s) {
    was_on_.push_back(servers.described(s).is_on);
    was_divided_.push_back(servers.described(s).division);
    owed_.resize(std::max(owed_.size(), servers.described(s).pool + 1), 0);
  }
}

FleetEvent FleetLoop::event(Kind kind, How result, Seconds now, std::size_t server,
                            std::string text) const {
  FleetEvent one;
  one.kind = kind;
  one.result = result;
  one.at = now;
  one.subject = servers_.described(server).name;
  one.text = std::move(text);
  const std::size_t pool = servers_.described(server).pool;
  if (pool < reasons_.size() && !is_ending_) one.why = reasons_[pool];
  return one;
}

std::string FleetLoop::text_of(std::size_t server, const Division& division) const {
  std::string names;
  for (const std::size_t i : division) {
    const FleetInstance& one = servers_.described(server).instances[i];
    names += fmt::format("{}{} (tp {})", names.empty() ? "" : ", ", one.name, one.tensor_parallel);
  }
  return names;
}

// --- a period -----------------------------------------------------------------------------------

std::vector<FleetEvent> FleetLoop::step(Seconds now,
                                        const std::vector<std::vector<InstanceReading>>& readings) {
  std::vector<FleetEvent> events = poll(now);
  for (FleetNews& news : servers_.read(now, readings)) {
    FleetEvent note;
    note.at = now;
    note.subject = std::move(news.subject);
    note.text = std::move(news.text);
    note.is_trouble = news.is_trouble;
    events.push_back(std::move(note));
  }
  if (!is_ending_ && servers_.is_known()) decide(now, events);
  go_on(now, events);
  return events;
}

std::vector<FleetEvent> FleetLoop::poll(Seconds now) {
  std::vector<FleetEvent> events;
  take_ended(now, events);
  return events;
}

void FleetLoop::decide(Seconds now, std::vector<FleetEvent>& events) {
  const FleetView view = servers_.view(now);
  reasons_.clear();
  for (std::size_t pool = 0; pool < view.pools.size(); ++pool) {
    const PoolView& one = view.pools[pool];
    PoolReasons reasons{one.load, one.recent_peak, one.caution, 0, {}};
    for (const ServerView& server : one.servers) {
      for (const InstanceView& instance : server.instances)
        reasons.carried += mind_.carries(pool, instance.layout, mind_.clocks_mhz.size() - 1);
    }
    reasons_.push_back(reasons);
  }
  const auto orders = mind_.decide(view);
  for (std::size_t pool = 0; mind_.expects && pool < reasons_.size(); ++pool)
    reasons_[pool].expected = mind_.expects(pool);
  if (!orders) {
    FleetEvent note;
    note.at = now;
    note.subject = "controller";
    note.text = "nothing is decided: " + orders.error().text();
    note.is_trouble = true;
    events.push_back(std::move(note));
    return;
  }
  // What the controller says of a pool anew stands in place of what is owed; of what it says twice
  // of one view (where a server takes no time to start), the last.
  std::map<std::size_t, ServersOrder> by_pool;
  for (const ServersOrder& order : orders->servers) {
    by_pool.insert_or_assign(order.pool, order);
    if (order.pool < owed_.size()) owed_[order.pool] = 0;
  }
  for (std::size_t pool = 0; pool < owed_.size(); ++pool) {
    for (int i = std::exchange(owed_[pool], 0); i > 0; --i) start_one(pool, now, events);
  }
  for (const auto& [pool, order] : by_pool) apply(order, now, events);
  for (const ShardsOrder& order : orders->shards) apply(order, now, events);
  settle_clocks(now, events);
  for (const ClockOrder& order : orders->clocks) apply(order, now, events);
  if (orders->spills) apply_spills(*orders->spills, now, events);
}

// --- orders -------------------------------------------------------------------------------------

void FleetLoop::apply(const ServersOrder& order, Seconds now, std::vector<FleetEvent>& events) {
  for (int i = 0; i < order.more; ++i) start_one(order.pool, now, events);
  std::set<std::size_t> chosen;
  for (int i = order.more; i < 0; ++i) {
    const auto server = servers_.to_stop(order.pool);
    // A dry run changes nothing, so that the next one to stop would be the same again.
    if (!server || !chosen.insert(*server).second) return;
    servers_.set_next_division(*server, servers_.division(*server));
    drain(*server, now, Kind::kStop, "stop", events);
  }
}

void FleetLoop::start_one(std::size_t pool, Seconds now, std::vector<FleetEvent>& events) {
  const auto server = servers_.to_start(pool);
  if (server && busy_.count(*server) == 0) {
    start(*server, now, events);
    return;
  }
  FleetEvent one;
  one.kind = Kind::kStart;
  one.result = How::kFailed;
  one.at = now;
  one.subject = fmt::format("pool {}", pool);
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    if (servers_.described(s).pool == pool) one.subject = "pool " + servers_.described(s).pool_name;
  }
  one.text = "one server more";
  one.failure = "none of it is off";
  if (pool < reasons_.size()) one.why = reasons_[pool];
  events.push_back(std::move(one));
}

void FleetLoop::start(std::size_t server, Seconds now, std::vector<FleetEvent>& events) {
  const std::string text = "start " + text_of(server, servers_.division(server));
  if (!hands_.acts()) {
    events.push_back(event(Kind::kStart, How::kWould, now, server, text));
    return;
  }
  servers_.set(server, FleetServerState::kStarting, now);
  if (const Outcome begun = begin(ServerDeed::kStart, server); !begun) {
    fail(server, ServerDeed::kStart, begun.error(), now, events);
    return;
  }
  events.push_back(event(Kind::kStart, How::kBegun, now, server, text));
}

void FleetLoop::apply(const ShardsOrder& order, Seconds now, std::vector<FleetEvent>& events) {
  const auto division = servers_.division_of(order.server, order.shards);
  if (!division) {
    FleetEvent one = event(Kind::kReshard, How::kFailed, now, order.server, "divide otherwise");
    one.failure = "it has no instances of that kind, or they would share a GPU";
    events.push_back(std::move(one));
    return;
  }
  if (*division == servers_.division(order.server)) return;  // a part of it cannot be reached
  servers_.set_next_division(order.server, *division);
  drain(order.server, now, Kind::kReshard, "divide into " + text_of(order.server, *division),
        events);
  if (!hands_.acts()) servers_.set_next_division(order.server, servers_.division(order.server));
}

/// Stops it, or divides it otherwise, once what runs on it is done.
void FleetLoop::drain(std::size_t server, Seconds now, Kind kind, const std::string& text,
                      std::vector<FleetEvent>& events) {
  if (!hands_.acts()) {
    events.push_back(event(kind, How::kWould, now, server, text));
    return;
  }
  servers_.set(server, FleetServerState::kDraining, now);
  events.push_back(event(kind, How::kBegun, now, server, text + ", once what runs on it is done"));
  if (const Outcome begun = begin(ServerDeed::kDrain, server); !begun)
    fail(server, ServerDeed::kDrain, begun.error(), now, events);
}

void FleetLoop::apply(const ClockOrder& order, Seconds now, std::vector<FleetEvent>& events) {
  const double before = mind_.clocks_mhz[servers_.clock(order.server, order.instance)];
  set_clock(order.server, order.instance, order.clock, now,
            fmt::format("{:g} MHz -> {:g} MHz", before, mind_.clocks_mhz[order.clock]), events);
}

bool FleetLoop::set_clock(std::size_t server, std::size_t instance, std::size_t clock, Seconds now,
                          const std::string& text, std::vector<FleetEvent>& events) {
  const double wanted = mind_.clocks_mhz[clock];
  const auto in_force = hands_.set_clock(server, instance, wanted);
  FleetEvent one = event(Kind::kClock, How::kDone, now, server, text);
  one.subject = servers_.described(server).instances[instance].name;
  if (!in_force) {
    one.result = How::kFailed;
    one.failure = in_force.error().text();
  } else {
    if (!hands_.acts()) one.result = How::kWould;
    if (*in_force != fmt::format("{:g} MHz", wanted)) one.text += ", in force: " + *in_force;
    servers_.set_clock(server, instance, clock);
  }
  events.push_back(std::move(one));
  return in_force.has_value();
}

/// Instances that run anew on GPUs whose clock was lowered for others begin at the highest.
void FleetLoop::settle_clocks(Seconds now, std::vector<FleetEvent>& events) {
  const std::size_t highest = mind_.clocks_mhz.size() - 1;
  std::erase_if(unset_, [&](const auto& one) {
    return set_clock(one.first, one.second, highest, now,
                     fmt::format("{:g} MHz to begin with", mind_.clocks_mhz[highest]), events);
  });
}

void FleetLoop::apply_spills(const std::vector<std::optional<Spill>>& spills, Seconds now,
                             std::vector<FleetEvent>& events) {
  const auto same = [](const std::optional<Spill>& a, const std::optional<Spill>& b) {
    return a.has_value() == b.has_value() && (!a || (a->to == b->to && a->share == b->share));
  };
  spills_.resize(spills.size());
  for (std::size_t pool = 0; pool < spills.size(); ++pool) {
    if (same(spills_[pool], spills[pool])) continue;
    FleetEvent one;
    one.kind = Kind::kSpill;
    one.result = How::kNone;
    one.at = now;
    const auto name = [](std::size_t of) {
      return std::string(name_of_class(static_cast<LoadClass>(of)));
    };
    one.subject = "pool " + name(pool);
    one.text = spills[pool] ? fmt::format(
                                  "{:.0f} % of its requests should go to {}; that is the "
                                  "router's to do",
                                  spills[pool]->share * 100, name(spills[pool]->to))
                            : std::string("none of its requests need go elsewhere");
    events.push_back(std::move(one));
  }
  spills_ = spills;
}

// --- deeds --------------------------------------------------------------------------------------

Outcome FleetLoop::begin(ServerDeed deed, std::size_t server) {
  PJ_CHECK(hands_.begin(deed, server, servers_.division(server), servers_.next_division(server)));
  busy_.insert(server);
  return {};
}

/// What follows on what runs: those that have drained stop, or are divided.
void FleetLoop::go_on(Seconds now, std::vector<FleetEvent>& events) {
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    if (busy_.count(s) > 0) continue;
    if (is_ending_) {
      if (is_back(s)) continue;
      bring_back(s, now, events);
    }
    if (servers_.state(s) != FleetServerState::kDraining || busy_.count(s) > 0) continue;
    if (!servers_.has_drained(s, now)) continue;
    const bool reshards = servers_.drains_to_reshard(s);
    const ServerDeed deed = reshards ? ServerDeed::kReshard : ServerDeed::kStop;
    if (const Outcome begun = begin(deed, s); !begun) {
      fail(s, deed, begun.error(), now, events);
      continue;
    }
    servers_.set(s, reshards ? FleetServerState::kResharding : FleetServerState::kStopping, now);
  }
}

void FleetLoop::take_ended(Seconds now, std::vector<FleetEvent>& events) {
  for (const EndedDeed& ended : hands_.ended()) {
    busy_.erase(ended.server);
    if (!ended.outcome) {
      fail(ended.server, ended.deed, ended.outcome.error(), now, events);
      continue;
    }
    switch (ended.deed) {
      case ServerDeed::kDrain:
        break;
      case ServerDeed::kStart:
        events.push_back(event(Kind::kStart, How::kDone, now, ended.server,
                               "its command has ended; it serves once it answers"));
        break;
      case ServerDeed::kStop:
        servers_.set(ended.server, FleetServerState::kOff, now);
        events.push_back(event(Kind::kStop, How::kDone, now, ended.server, "stopped"));
        break;
      case ServerDeed::kReshard:
        servers_.take_next_division(ended.server);
        if (sets_clocks_ && !is_ending_) {
          for (const std::size_t i : servers_.division(ended.server))
            unset_.insert({ended.server, i});
        }
        events.push_back(event(Kind::kReshard, How::kDone, now, ended.server,
                               "divided; it serves once it answers"));
        break;
    }
  }
}

void FleetLoop::fail(std::size_t server, ServerDeed deed, const Error& error, Seconds now,
                     std::vector<FleetEvent>& events) {
  FleetEvent one = event(kind_of(deed), How::kFailed, now, server, std::string(name_of(deed)));
  one.failure = error.text();
  events.push_back(std::move(one));
  if (is_ending_) --tries_[server];
  switch (deed) {
    case ServerDeed::kDrain:
      break;  // its requests are waited for all the same
    case ServerDeed::kStart:
      // What its other instances' commands started shows by answering.
      servers_.set(server, FleetServerState::kOff, now);
      servers_.count_failure(server);
      ++owed_[servers_.described(server).pool];
      break;
    case ServerDeed::kStop:
      // Its time to drain is over, or nothing runs on it: the next period tries again.
      servers_.set(server, FleetServerState::kDraining, now);
      break;
    case ServerDeed::kReshard:
      // As it was, as far as it answers; the controller orders anew.
      servers_.set(server, FleetServerState::kServing, now);
      break;
  }
}

// --- the end ------------------------------------------------------------------------------------

FleetLoop::Ending FleetLoop::end(Seconds now, bool leaves_servers) {
  Ending ending;
  ending.clocks = hands_.restore_clocks();
  is_ending_ = true;
  tries_.assign(servers_.size(), leaves_servers || !hands_.acts() ? 0 : kLastTries);
  go_on(now, ending.events);
  return ending;
}

/// As it was found, or given up.
bool FleetLoop::is_back(std::size_t server) const {
  if (tries_[server] <= 0) return true;
  const FleetServerState state = servers_.state(server);
  if (!was_on_[server]) return state == FleetServerState::kOff;
  return state != FleetServerState::kOff && state != FleetServerState::kDraining &&
         servers_.division(server) == was_divided_[server];
}

void FleetLoop::bring_back(std::size_t server, Seconds now, std::vector<FleetEvent>& events) {
  const FleetServerState state = servers_.state(server);
  const bool drains = state == FleetServerState::kDraining;
  if (!was_on_[server]) {
    if (drains) return;  // goes on to stop
    servers_.set_next_division(server, servers_.division(server));
    drain(server, now, Kind::kStop, "stop, as it was found", events);
    return;
  }
  if (state == FleetServerState::kOff) {
    servers_.set_next_division(server, was_divided_[server]);
    servers_.take_next_division(server);
    start(server, now, events);
  } else if (servers_.division(server) != was_divided_[server]) {
    const bool is_under_way = drains && servers_.next_division(server) == was_divided_[server];
    servers_.set_next_division(server, was_divided_[server]);
    if (!is_under_way) {
      drain(server, now, Kind::kReshard,
            "divide into " + text_of(server, was_divided_[server]) + ", as it was found", events);
    }
  } else {
    // Whoever was told to send it no more is told otherwise by its start.
    servers_.set_next_division(server, servers_.division(server));
    start(server, now, events);
  }
}

bool FleetLoop::is_settled() const {
  if (!busy_.empty()) return false;
  for (std::size_t s = 0; is_ending_ && s < servers_.size(); ++s) {
    if (!is_back(s)) return false;
  }
  return true;
}

}  // namespace perjoule
