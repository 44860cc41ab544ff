// What fleet plan found, as tables and as a document (docs/formats.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "fleet/plan/clock_choice.h"
#include "fleet/plan/pool_problem.h"

namespace perjoule::cli {

/// The choice for one instance of a GPU; its curves are `profile`'s.
struct GpuClock {
  std::string gpu;
  ServingProfile profile;
  ClockChoice choice;
};

/// The same pool with one load and one clock for all.
struct EqualSplits {
  std::optional<Watts> free = {};           ///< at the best clock
  std::optional<Watts> highest_clock = {};  ///< at the highest
};

struct LoadPlan {
  PoolProblem problem;
  PoolPlan pool;
  std::vector<GpuClock> clocks;
  EqualSplits equal;
};

struct PlanView {
  const ServingProfile& profile;
  const LatencyTarget& target;
  std::string solver;
};

/// For each GPU of the profile, the choice for one instance.
std::vector<GpuClock> clocks_at(const ServingProfile& profile, double load,
                                const LatencyTarget& target);
/// None where the pool has several kinds: they have no equal split.
EqualSplits equal_splits(const ServingProfile& profile, const PoolProblem& problem,
                         const LatencyTarget& target);

std::string plan_text(const PlanView& view, const std::vector<LoadPlan>& plans);
Json plan_json(const PlanView& view, const std::vector<LoadPlan>& plans);
/// "16000 tokens/s: the instances there may be carry at most 12800 within the latencies".
std::string why_infeasible(const LoadPlan& plan);

}  // namespace perjoule::cli
