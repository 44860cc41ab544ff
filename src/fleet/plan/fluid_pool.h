// The servers of one class of requests as a fluid: their load over time divided among them, with
// perfect knowledge of it, servers that are off drawing nothing, and changes that cost nothing.
// What a policy could save at best, before transitions and wrong predictions take their part.
//
//   PJ_TRY(const FluidPool pool, FluidPool::make(profile, load, 0, options));
//   const FluidReport report = pool.run(policy);
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/energy.h"
#include "fleet/plan/fluid_policy.h"
#include "fleet/plan/load_curve.h"
#include "fleet/plan/server_curves.h"
#include "fleet/plan/unequal_split.h"

namespace perjoule {

struct FluidOptions {
  LatencyTarget target = {};
  /// How long the number of servers stays as it is; clocks and layouts change every bin. Not above
  /// a bin: every bin.
  Seconds epoch = {};
  /// Servers there are; none: as many as the peak takes at the highest clock.
  std::optional<int> most_servers = {};
};

/// What a fleet did in a bin.
struct FluidBin {
  Seconds start = {};
  Seconds duration = {};
  int servers = 0;
  Watts power = {};
  double unserved_tokens = 0;  ///< above what the servers carry within the latencies
  double late_tokens = 0;      ///< served, and not within the latencies
};

/// How much of the servers' time a layout and clock had.
struct ChoiceShare {
  InstanceLayout layout = {};
  double clock_mhz = 0;
  std::string load_class = {};
  double share = 0;
};

struct FluidReport {
  FluidPolicy policy = {};
  Energy energy = {};
  /// Part of the energy that the servers would have drawn without load; none where a curve that was
  /// used has no point at load 0.
  std::optional<Joules> idle = {};
  double mean_servers = 0;
  int peak_servers = 0;
  double tokens = 0;           ///< prompt tokens that came
  double unserved_tokens = 0;  ///< their energy is none of this
  double late_tokens = 0;
  std::vector<ChoiceShare> shares = {};  ///< largest first
  std::vector<FluidBin> bins = {};
  std::size_t missed_bins = 0;  ///< with unserved or late tokens, or servers that would be late

  /// Share of the tokens that were served within the latencies; 1 where none came.
  double attainment() const;
};

class FluidPool {
 public:
  /// `profile` has curves of one model, GPU and class. Fails as ServerCurves::make() and
  /// check_load() do; out_of_range where no point of the profile meets the target, saying what
  /// comes nearest, and where the peak takes more than 100,000 servers.
  static Result<FluidPool> make(const ServingProfile& profile, LoadCurve load, std::size_t column,
                                const FluidOptions& options);

  /// O(bins x servers x curves x log points).
  FluidReport run(const FluidPolicy& policy) const;
  /// Servers that any policy may use: those of the peak at the highest clock, or as many as there
  /// are.
  int most_servers() const { return most_; }
  const ServerCurves& servers() const { return servers_; }

 private:
  FluidPool(ServerCurves servers, LoadCurve load, std::size_t column, const FluidOptions& options)
      : servers_(std::move(servers)), load_(std::move(load)), column_(column), options_(options) {}
  friend class FluidRun;

  ServerCurves servers_;
  LoadCurve load_;
  std::size_t column_;
  FluidOptions options_;
  int most_ = 1;
  std::size_t peak_layout_ = 0;  ///< of least power at the peak
};

}  // namespace perjoule
