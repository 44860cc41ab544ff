#include "fleet/simulate/fleet_pool.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace perjoule {
namespace {

constexpr double kLoadMemory = 30;    // s
constexpr double kPeakMemory = 300;   // s
constexpr double kRecentMemory = 60;  // s, of requests in time
constexpr double kEnoughRequests = 20;
constexpr double kMostCaution = 3;

}  // namespace

bool FleetPool::spills_next() {
  if (!spill) return false;
  spilled_ += spill->share;
  if (spilled_ < 1) return false;
  spilled_ -= 1;
  return true;
}

double FleetPool::carries(std::size_t layout, std::size_t clock) const {
  const double load = capacity_.highest_load(layout, clock, pool_class_);
  return load > 0 ? load : capacity_.last_load(layout, clock, pool_class_);
}

Seconds FleetPool::time_to_clear(const ServerInstance& one) const {
  return Seconds(static_cast<double>(one.engine().waiting_tokens()) /
                 carries(one.layout(), one.wanted_clock()));
}

ServerInstance* FleetPool::choose(Seconds now, const LiveRequest& request) {
  ServerInstance* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (Server* const server : servers) {
    server->advance(now);
    if (!server->serves()) continue;
    for (const auto& one : server->instances()) {
      const Instance& engine = one->engine();
      if (!engine.fits(request.prompt, request.output)) continue;
      const double cost = engine.ahead() / carries(one->layout(), one->wanted_clock());
      if (cost >= least) continue;
      least = cost;
      best = one.get();
    }
  }
  return best;
}

void FleetPool::close_window(Seconds length, double least_attainment) {
  const double seconds = length.value();
  const double rate = window_tokens_ / seconds;
  window_tokens_ = 0;
  load_ += (rate - load_) * (1 - std::exp(-seconds / kLoadMemory));
  recent_peak_ = std::max(load_, recent_peak_ * std::exp(-seconds / kPeakMemory));
  const double all = recent_met_ + recent_missed_;
  if (all >= kEnoughRequests) {
    const bool is_late = recent_met_ < least_attainment * all;
    caution_ = std::clamp(caution_ * (is_late ? 1.05 : 0.98), 1.0, kMostCaution);
  }
  recent_met_ *= std::exp(-seconds / kRecentMemory);
  recent_missed_ *= std::exp(-seconds / kRecentMemory);
}

}  // namespace perjoule
