#include "fleet/control/shard_plan.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "fleet/plan/pool_problem.h"
#include "fleet/plan/pool_solver.h"

namespace perjoule {
namespace {

constexpr double kLeastPower = 1e-3;

/// The rows of a layout: the loads at which it is in time, at the clock that takes least power.
std::vector<PoolRow> rows_of(const EngineCapacity& capacity, const ShardQuestion& question,
                             std::size_t layout) {
  const std::size_t highest = capacity.clocks() - 1;
  const Watts idle = question.idle_gpu * capacity.gpus(layout);
  std::vector<PoolRow> rows;
  for (const ServingPoint& point : capacity.points_met(layout, highest, question.pool_class)) {
    Watts power = point.power;
    if (!question.at_highest_clock) {
      const auto clock = capacity.frugal_clock(layout, question.pool_class, point.load);
      if (clock) power = capacity.power(layout, *clock, question.pool_class, point.load);
    }
    // What its GPUs would draw without it is drawn in any case.
    rows.push_back({point.load, std::max(power - idle, Watts(kLeastPower)), layout});
  }
  return rows;
}

std::vector<int> most_carrying(const EngineCapacity& capacity, const ShardQuestion& question) {
  std::vector<int> instances(capacity.layouts(), 0);
  const std::size_t highest = capacity.clocks() - 1;
  std::size_t best = 0;
  double most = -1;
  for (std::size_t layout = 0; layout < capacity.layouts(); ++layout) {
    const double of_gpu =
        capacity.highest_load(layout, highest, question.pool_class) / capacity.gpus(layout);
    if (of_gpu > most || (of_gpu == most && capacity.gpus(layout) > capacity.gpus(best))) {
      most = of_gpu;
      best = layout;
    }
  }
  instances[best] = question.gpus / capacity.gpus(best);
  return instances;
}

}  // namespace

Watts power_of_shards(const EngineCapacity& capacity, const ShardQuestion& question,
                      const std::vector<int>& instances) {
  const std::size_t highest = capacity.clocks() - 1;
  double carried = 0;
  int used = 0;
  for (std::size_t layout = 0; layout < instances.size(); ++layout) {
    carried += instances[layout] * capacity.highest_load(layout, highest, question.pool_class);
    used += instances[layout] * capacity.gpus(layout);
  }
  Watts power = question.idle_gpu * std::max(0, question.gpus - used);
  for (std::size_t layout = 0; layout < instances.size(); ++layout) {
    if (instances[layout] == 0) continue;
    const double most = capacity.highest_load(layout, highest, question.pool_class);
    const double load = carried > 0 ? question.load * most / carried : question.load;
    std::size_t clock = highest;
    if (!question.at_highest_clock)
      clock = capacity.frugal_clock(layout, question.pool_class, load).value_or(highest);
    power += capacity.power(layout, clock, question.pool_class, load) * instances[layout];
  }
  return power;
}

Result<ShardPlan> plan_shards(const EngineCapacity& capacity, const ShardQuestion& question) {
  PoolProblem problem;
  problem.load = question.load;
  problem.most_gpus = question.gpus;
  for (std::size_t layout = 0; layout < capacity.layouts(); ++layout) {
    PoolKind kind;
    kind.name = "tp" + std::to_string(capacity.gpus(layout));
    kind.gpus = capacity.gpus(layout);
    kind.most = question.gpus / kind.gpus;
    kind.rows = rows_of(capacity, question, layout);
    problem.kinds.push_back(std::move(kind));
  }
  ShardPlan plan;
  plan.instances.assign(capacity.layouts(), 0);
  PJ_TRY(const PoolPlan pool, solve_pool(problem));
  plan.feasible = pool.feasible;
  if (pool.feasible) {
    for (const PoolUse& use : pool.uses) plan.instances[use.kind] += use.count;
  }
  if (std::accumulate(plan.instances.begin(), plan.instances.end(), 0) == 0)
    plan.instances = most_carrying(capacity, question);
  plan.power = power_of_shards(capacity, question, plan.instances);
  return plan;
}

std::vector<ServerShards> lay_out(const EngineCapacity& capacity, std::vector<int> instances,
                                  int servers, int gpus) {
  std::vector<std::size_t> larger_first(capacity.layouts());
  std::iota(larger_first.begin(), larger_first.end(), std::size_t{0});
  std::stable_sort(larger_first.begin(), larger_first.end(), [&](std::size_t a, std::size_t b) {
    return capacity.gpus(a) > capacity.gpus(b);
  });
  std::vector<ServerShards> all;
  for (int server = 0; server < servers; ++server) {
    ServerShards shards(capacity.layouts(), 0);
    int left = gpus;
    for (const std::size_t layout : larger_first) {
      const int here = std::min(instances[layout], left / capacity.gpus(layout));
      shards[layout] = here;
      instances[layout] -= here;
      left -= here * capacity.gpus(layout);
    }
    all.push_back(std::move(shards));
  }
  return all;
}

}  // namespace perjoule
