#include "fleet/plan/pool_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace perjoule {
namespace {

/// What an instance of the kind carries at most.
double highest_row(const PoolKind& kind) {
  double highest = 0;
  for (const PoolRow& row : kind.rows) highest = std::max(highest, row.load);
  return highest;
}

}  // namespace

Outcome check_problem(const PoolProblem& problem) {
  if (!(problem.load >= 0) || std::isinf(problem.load))
    return Error::invalid_argument(fmt::format("a load of {} tokens/s", problem.load));
  if (problem.most_gpus && *problem.most_gpus < 0)
    return Error::invalid_argument("fewer than 0 GPUs");
  for (const PoolKind& kind : problem.kinds) {
    if (kind.gpus < 1 || kind.most < 0) {
      return Error::invalid_argument(fmt::format("{}: {} GPUs an instance, at most {} instances",
                                                 kind.name, kind.gpus, kind.most));
    }
    for (const PoolRow& row : kind.rows) {
      const bool sound = row.load > 0 && std::isfinite(row.load) && row.power.value() > 0 &&
                         std::isfinite(row.power.value());
      if (!sound) {
        return Error::invalid_argument(fmt::format("{}: a row of {} tokens/s at {} W", kind.name,
                                                   row.load, row.power.value()));
      }
    }
  }
  return {};
}

PoolPlan plan_of_uses(const PoolProblem& problem, std::vector<PoolUse> uses) {
  std::sort(uses.begin(), uses.end(), [](const PoolUse& a, const PoolUse& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.row < b.row;
  });
  PoolPlan plan;
  plan.feasible = true;
  plan.uses = std::move(uses);
  for (const PoolUse& use : plan.uses) {
    const PoolKind& kind = problem.kinds[use.kind];
    plan.power += kind.rows[use.row].power * use.count;
    plan.capacity += kind.rows[use.row].load * use.count;
    plan.gpus += kind.gpus * use.count;
  }
  return plan;
}

double highest_pool_load(const PoolProblem& problem) {
  double highest = 0;
  for (const PoolKind& kind : problem.kinds) {
    int most = kind.most;
    if (problem.most_gpus) most = std::min(most, *problem.most_gpus / kind.gpus);
    highest += highest_row(kind) * most;
  }
  return highest;
}

std::vector<PoolKind> pool_kinds(const ServingProfile& profile, const LatencyTarget& target) {
  std::vector<PoolKind> kinds;
  for (std::size_t i = 0; i < profile.curves.size(); ++i) {
    const ProfileCurve& curve = profile.curves[i];
    const std::string name = fmt::format("{} x{}", curve.layout.gpu, curve.layout.gpus());
    auto kind = std::find_if(kinds.begin(), kinds.end(),
                             [&](const PoolKind& one) { return one.name == name; });
    if (kind == kinds.end()) {
      kinds.push_back({name, curve.layout.gpus(), 0, {}});
      kind = kinds.end() - 1;
    }
    for (const ServingPoint& point : curve.points) {
      if (point.load > 0 && meets(point, target))
        kind->rows.push_back({point.load, point.power, i});
    }
  }
  return kinds;
}

}  // namespace perjoule
