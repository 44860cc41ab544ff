#include "fleet/plan/fluid_fleet.h"

#include <algorithm>

#include "fleet/plan/clock_choice.h"

namespace perjoule {
namespace {

/// Adds a pool's report to that of those before it: the same bins, other servers.
void add(FluidReport& sum, FluidReport&& pool) {
  const double before = sum.mean_servers;
  const double all = before + pool.mean_servers;
  for (ChoiceShare& share : sum.shares) share.share *= all > 0 ? before / all : 0;
  for (ChoiceShare& share : pool.shares) {
    share.share *= all > 0 ? pool.mean_servers / all : 0;
    sum.shares.push_back(std::move(share));
  }
  sum.energy = sum.energy + pool.energy;
  if (!pool.idle) sum.idle.reset();
  if (sum.idle) *sum.idle += *pool.idle;
  sum.mean_servers = all;
  sum.tokens += pool.tokens;
  sum.unserved_tokens += pool.unserved_tokens;
  sum.late_tokens += pool.late_tokens;
  sum.peak_servers = 0;
  sum.missed_bins = 0;
  for (std::size_t i = 0; i < sum.bins.size(); ++i) {
    FluidBin& bin = sum.bins[i];
    bin.servers += pool.bins[i].servers;
    bin.power += pool.bins[i].power;
    bin.unserved_tokens += pool.bins[i].unserved_tokens;
    bin.late_tokens += pool.bins[i].late_tokens;
    sum.peak_servers = std::max(sum.peak_servers, bin.servers);
    sum.missed_bins += bin.unserved_tokens > 0 || bin.late_tokens > 0;
  }
  std::stable_sort(sum.shares.begin(), sum.shares.end(),
                   [](const auto& a, const auto& b) { return a.share > b.share; });
}

}  // namespace

Result<FluidFleet> FluidFleet::make(const ServingProfile& profile, const LoadCurve& load,
                                    const FluidOptions& options) {
  PJ_CHECK(check_load(load));
  FluidFleet fleet;
  for (std::size_t i = 0; i < load.classes.size(); ++i) {
    const ServingProfile curves = select_curves(profile, "", "", load.classes[i]);
    Result<FluidPool> pool = FluidPool::make(curves, load, i, options);
    if (!pool && load.classes.size() > 1) return fail(pool, "class " + load.classes[i]);
    if (!pool) return fail(pool);
    fleet.pools_.push_back(std::move(*pool));
  }
  return fleet;
}

FluidReport FluidFleet::run(const FluidPolicy& policy) const {
  FluidReport sum = pools_.front().run(policy);
  for (std::size_t i = 1; i < pools_.size(); ++i) add(sum, pools_[i].run(policy));
  return sum;
}

int FluidFleet::most_servers() const {
  int most = 0;
  for (const FluidPool& pool : pools_) most += pool.most_servers();
  return most;
}

int FluidFleet::gpus_per_server() const {
  int gpus = 0;
  for (const FluidPool& pool : pools_) gpus = std::max(gpus, pool.servers().gpus());
  return gpus;
}

std::vector<std::string> FluidFleet::notes() const {
  std::vector<std::string> notes;
  for (const FluidPool& pool : pools_)
    notes.insert(notes.end(), pool.servers().notes().begin(), pool.servers().notes().end());
  return notes;
}

}  // namespace perjoule
