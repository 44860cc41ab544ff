#include "fleet/simulate/server.h"

#include <algorithm>
#include <utility>

namespace perjoule {

Watts Engines::idle_gpu() const {
  const StepModel::Traits& traits = models.front()->traits();
  return traits.idle.back() / traits.layout.gpus();
}

ServerInstance::ServerInstance(const Engines& engines, std::size_t layout, Seconds now)
    : layout_(layout),
      engine_(*engines.models[layout], engines.limits.of(layout), *engines.live, *engines.sink,
              now),
      wanted_(engine_.clock()) {}

void ServerInstance::advance(Seconds until) {
  if (changes_at_ && *changes_at_ <= until.value()) {
    engine_.advance(Seconds(*changes_at_));
    engine_.set_clock(wanted_);
    changes_at_.reset();
  }
  engine_.advance(until);
}

void ServerInstance::set_clock(std::size_t clock, Seconds at) {
  if (clock == wanted_) return;
  wanted_ = clock;
  changes_at_ = at.value();
}

int Server::used_gpus() const {
  int gpus = 0;
  for (const auto& one : instances_) gpus += engines_.models[one->layout()]->traits().layout.gpus();
  return gpus;
}

void Server::rest(double until, Joules& into, int gpus) {
  into += engines_.idle_gpu() * gpus * Seconds(until - now_);
}

void Server::advance(Seconds until) {
  const double end = until.value();
  while (now_ < end) {
    const double next = state_ == ServerState::kServing || state_ == ServerState::kOff
                            ? end
                            : std::min(end, std::max(now_, changes_at_));
    if (state_ != ServerState::kOff) ended_.on += Seconds(next - now_);
    if (state_ == ServerState::kServing || state_ == ServerState::kDraining) {
      rest(next, ended_.idle, engines_.gpus_per_server - used_gpus());
      for (const auto& one : instances_) one->advance(Seconds(next));
    } else if (state_ != ServerState::kOff) {
      rest(next, ended_.transition, engines_.gpus_per_server);
    }
    now_ = next;
    if (state_ == ServerState::kDraining) {
      const bool empty = std::all_of(instances_.begin(), instances_.end(),
                                     [](const auto& one) { return one->engine().is_idle(); });
      if (empty || now_ >= changes_at_) end_draining();
    } else if (state_ != ServerState::kServing && state_ != ServerState::kOff &&
               now_ >= changes_at_) {
      begin_serving();
    }
  }
}

void Server::start(Seconds now, Seconds ready_at, const ServerShards& shards) {
  advance(now);
  if (state_ == ServerState::kDraining) {
    state_ = ServerState::kServing;
    next_shards_.reset();
    return;
  }
  now_ = now.value();
  shards_ = shards;
  state_ = ServerState::kStarting;
  changes_at_ = ready_at.value();
  if (changes_at_ <= now_) begin_serving();
}

void Server::drain(Seconds now, Seconds give_up, std::optional<ServerShards> shards,
                   Seconds reshard) {
  advance(now);
  next_shards_ = std::move(shards);
  reshard_ = reshard.value();
  changes_at_ = give_up.value();
  for (const auto& one : instances_) {
    const std::vector<RequestSlot> waiting = one->engine().give_back_waiting();
    returned_.insert(returned_.end(), waiting.begin(), waiting.end());
  }
  if (state_ == ServerState::kStarting || instances_.empty()) {
    end_draining();
  } else {
    state_ = ServerState::kDraining;
  }
}

void Server::end_draining() {
  for (const auto& one : instances_) {
    const std::vector<RequestSlot> slots = one->engine().give_back_all(Seconds(now_));
    returned_.insert(returned_.end(), slots.begin(), slots.end());
    const EngineUse& use = one->engine().use();
    ended_.busy += use.busy;
    ended_.idle += use.idle;
    ended_.steps += use.steps;
    ended_.preemptions += use.preemptions;
  }
  instances_.clear();
  if (!next_shards_) {
    state_ = ServerState::kOff;
    return;
  }
  shards_ = *std::exchange(next_shards_, std::nullopt);
  state_ = ServerState::kResharding;
  changes_at_ = now_ + reshard_;
}

void Server::begin_serving() {
  state_ = ServerState::kServing;
  for (std::size_t layout = 0; layout < shards_.size(); ++layout) {
    for (int i = 0; i < shards_[layout]; ++i)
      instances_.push_back(std::make_unique<ServerInstance>(engines_, layout, Seconds(now_)));
  }
}

ServerTally Server::use() const {
  ServerTally use = ended_;
  for (const auto& one : instances_) {
    const EngineUse& engine = one->engine().use();
    use.busy += engine.busy;
    use.idle += engine.idle;
    use.steps += engine.steps;
    use.preemptions += engine.preemptions;
  }
  return use;
}

std::vector<RequestSlot> Server::take_returned() { return std::exchange(returned_, {}); }

}  // namespace perjoule
