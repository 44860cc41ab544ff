#include "fleet/simulate/request_router.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace perjoule {
namespace {

/// Shares of the time to the first token that a queue may need: until help, and until it is split.
constexpr double kLate = 0.5;
constexpr double kVeryLate = 2;

}  // namespace

RequestRouter::RequestRouter(SimulatedServers& servers, const FleetController& controller,
                             const FleetPolicy& policy, LiveRequests& live, EngineSink& sink)
    : servers_(servers),
      controller_(controller),
      policy_(policy),
      live_(live),
      sink_(sink),
      spills_(controller.pools()),
      spill_due_(controller.pools(), 0),
      backlog_(controller.pools()),
      loads_(controller.pools()) {}

void RequestRouter::set_spills(std::vector<std::optional<Spill>> spills) {
  spills_ = std::move(spills);
}

std::size_t RequestRouter::class_pool(std::uint8_t load_class) const {
  return policy_.has_pools ? load_class : 0;
}

/// Whether `pool` is made for all that `other` is made for.
bool RequestRouter::may_take(std::size_t pool, std::size_t other) const {
  return !policy_.has_pools ||
         dominates(static_cast<LoadClass>(pool), static_cast<LoadClass>(other));
}

bool RequestRouter::spills_next(std::size_t pool) {
  if (!spills_[pool]) return false;
  spill_due_[pool] += spills_[pool]->share;
  if (spill_due_[pool] < 1) return false;
  spill_due_[pool] -= 1;
  return true;
}

void RequestRouter::route(RequestSlot slot, Seconds now) { place(slot, now, true); }

void RequestRouter::place(RequestSlot slot, Seconds now, bool is_new) {
  const std::size_t own = class_pool(live_[slot].predicted_class);
  std::size_t first = own;
  // Spills go to larger pools, so that this ends.
  while (spills_next(first)) first = spills_[first]->to;
  std::size_t taken = first;
  ServerInstance* one = servers_.choose(first, now, live_[slot]);
  for (std::size_t pool = 0; one == nullptr && pool < loads_.size(); ++pool) {
    if (pool == first || !may_take(pool, own)) continue;
    one = servers_.choose(pool, now, live_[slot]);
    taken = pool;
  }
  // Better a pool of shorter ones than none.
  for (std::size_t pool = loads_.size(); one == nullptr && pool-- > 0;) {
    one = servers_.choose(pool, now, live_[slot]);
    taken = pool;
  }
  live_[slot].pool = static_cast<std::uint16_t>(one == nullptr ? first : taken);
  if (one == nullptr) {
    backlog_[first].push_back(slot);
    return;
  }
  if (is_new) {
    spilled_ += taken != own;
    loads_[taken].arrived(static_cast<double>(live_[slot].prompt));
  }
  if (policy_.has_emergencies &&
      servers_.time_to_clear(taken, *one) > controller_.due_within(taken) * kLate) {
    if (ServerInstance* const other = shortest(slot, taken, now)) {
      ++steered_;
      one = other;
    }
  }
  one->engine().take(slot);
}

void RequestRouter::route_returned(Seconds now) {
  for (const RequestSlot slot : servers_.take_returned()) place(slot, now, false);
  for (std::deque<RequestSlot>& backlog : backlog_) {
    for (std::size_t left = backlog.size(); left > 0; --left) {
      const RequestSlot slot = backlog.front();
      backlog.pop_front();
      if (is_given_up(slot, now)) {
        sink_.ended(slot, RequestEnd::kSquashed, now);
      } else {
        route(slot, now);
      }
    }
  }
}

bool RequestRouter::is_given_up(RequestSlot slot, Seconds now) const {
  const LiveRequest& request = live_[slot];
  return std::isnan(request.first_token.value()) && now - request.arrival > policy_.squash_after;
}

void RequestRouter::look_after(Seconds now) {
  for (std::size_t pool = 0; pool < loads_.size(); ++pool) {
    servers_.for_each(pool, [&](ServerInstance& one) {
      if (policy_.has_emergencies) {
        help(pool, one, now);
        look_after_outliving(one, now);
      }
      squash_late(one, now);
    });
  }
}

void RequestRouter::help(std::size_t pool, ServerInstance& one, Seconds now) {
  const Seconds due = controller_.due_within(pool);
  const Seconds clears = servers_.time_to_clear(pool, one);
  one.engine().order_by_deadline(clears > due * kLate);
  if (clears <= due * kVeryLate) return;
  // Half of those that wait, the ones whose deadline is last, go where the queue is shorter.
  const std::vector<RequestSlot> waiting = one.engine().give_back_waiting();
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    ServerInstance* const other =
        i < waiting.size() / 2 ? nullptr : shortest(waiting[i], pool, now);
    const bool goes = other != nullptr && other != &one;
    steered_ += goes;
    (goes ? *other : one).engine().take(waiting[i]);
  }
}

/// Among the pool's own and all larger ones, one that is not late itself; null where all are.
ServerInstance* RequestRouter::shortest(RequestSlot slot, std::size_t own, Seconds now) {
  ServerInstance* best = nullptr;
  Seconds least = controller_.due_within(own) * kLate;
  for (std::size_t pool = 0; pool < loads_.size(); ++pool) {
    if (!may_take(pool, own)) continue;
    ServerInstance* const one = servers_.choose(pool, now, live_[slot]);
    if (one == nullptr || servers_.time_to_clear(pool, *one) >= least) continue;
    least = servers_.time_to_clear(pool, *one);
    best = one;
  }
  return best;
}

/// Requests that have more tokens than their class was said to have.
void RequestRouter::look_after_outliving(ServerInstance& one, Seconds now) {
  if (policy_.outliving == Outliving::kKeep || !policy_.has_pools) return;
  std::vector<RequestSlot> outlived;
  one.engine().for_each_decoding([&](RequestSlot slot, std::int64_t tokens) {
    const LiveRequest& request = live_[slot];
    const auto bound = output_bound(output_of(request.predicted_class));
    if (bound && tokens >= *bound) outlived.push_back(slot);
  });
  for (const RequestSlot slot : outlived) {
    if (policy_.outliving == Outliving::kSpeedUp) {
      if (policy_.scales_clocks) servers_.set_clock(one, one.engine().model().highest_clock(), now);
      continue;
    }
    const LoadClass larger = load_class(input_of(live_[slot].predicted_class),
                                        output_of(live_[slot].predicted_class) + 1);
    ServerInstance* const other = servers_.choose(larger, now, live_[slot]);
    if (other == nullptr || other == &one) continue;
    live_[slot].predicted_class = larger;
    live_[slot].pool = larger;
    ++moved_;
    one.engine().give_back(slot);
    other->engine().take(slot);
  }
}

void RequestRouter::squash_late(ServerInstance& one, Seconds now) {
  Instance& engine = one.engine();
  const bool any = std::any_of(engine.queue().begin(), engine.queue().end(),
                               [&](RequestSlot slot) { return is_given_up(slot, now); });
  if (!any) return;
  for (const RequestSlot slot : engine.give_back_waiting()) {
    if (is_given_up(slot, now)) {
      sink_.ended(slot, RequestEnd::kSquashed, now);
    } else {
      engine.take(slot);
    }
  }
}

void RequestRouter::give_up(Seconds now) {
  for (std::deque<RequestSlot>& backlog : backlog_) {
    for (const RequestSlot slot : backlog) sink_.ended(slot, RequestEnd::kSquashed, now);
    backlog.clear();
  }
}

}  // namespace perjoule
