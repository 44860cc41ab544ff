#include "fleet/plan/pool_solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "fleet/plan/pool_labels.h"

namespace perjoule {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Cells of the grid that are looked at, and kept for going back: a second, and 120 MB.
constexpr double kMostWork = 4e8;
constexpr double kMostKept = 6e7;

/// What the grid's way needs of a problem.
struct Grid {
  double step = 0;
  std::size_t loads = 1;            ///< cells 0..T
  std::size_t gpus = 1;             ///< cells 0..G, or one where they are not limited
  std::vector<int> instances = {};  ///< of each kind that can be of use

  std::size_t cells() const { return loads * gpus; }
};

Grid grid_of(const PoolProblem& problem, double step) {
  Grid grid;
  grid.step = step;
  // What rounding leaves must not ask for one step more.
  const double target = std::ceil(problem.load / step * (1 - 1e-12));
  grid.loads = static_cast<std::size_t>(target) + 1;
  if (problem.most_gpus) grid.gpus = static_cast<std::size_t>(*problem.most_gpus) + 1;
  for (const PoolKind& kind : problem.kinds) {
    // More than one for every step are never of use.
    double most = std::min(static_cast<double>(kind.most), target);
    if (problem.most_gpus) most = std::min(most, std::floor(*problem.most_gpus / kind.gpus));
    grid.instances.push_back(static_cast<int>(most));
  }
  return grid;
}

/// Adds instances one by one, on all cells at once.
class GridProgramme {
 public:
  GridProgramme(const PoolProblem& problem, const Grid& grid)
      : problem_(problem), grid_(grid), power_(grid.cells(), kInfinity) {
    power_[0] = 0;
  }

  PoolPlan run(const std::vector<std::vector<std::size_t>>& rows) {
    for (std::size_t kind = 0; kind < problem_.kinds.size(); ++kind) {
      for (int i = 0; i < grid_.instances[kind] && add_instance(kind, rows[kind]); ++i) {
      }
    }
    std::size_t best = 0;
    double least = kInfinity;
    for (std::size_t g = 0; g < grid_.gpus; ++g) {
      const std::size_t cell = g * grid_.loads + grid_.loads - 1;
      if (power_[cell] >= least) continue;
      least = power_[cell];
      best = cell;
    }
    if (least == kInfinity) return {};
    return plan_of_uses(problem_, go_back(best));
  }

 private:
  static constexpr std::uint16_t kNone = std::numeric_limits<std::uint16_t>::max();

  struct Layer {
    std::size_t kind;
    std::vector<std::uint16_t> row;  ///< of the instance added at the cell, or kNone
  };

  /// False when it brings nothing, so that another one does not either.
  bool add_instance(std::size_t kind, const std::vector<std::size_t>& rows) {
    const PoolKind& of = problem_.kinds[kind];
    const auto gpus = problem_.most_gpus ? static_cast<std::size_t>(of.gpus) : 0;
    std::vector<double> next = power_;
    Layer layer{kind, std::vector<std::uint16_t>(grid_.cells(), kNone)};
    bool better = false;
    for (std::size_t g = gpus; g < grid_.gpus; ++g) {
      const double* from = power_.data() + (g - gpus) * grid_.loads;
      double* to = next.data() + g * grid_.loads;
      std::uint16_t* chosen = layer.row.data() + g * grid_.loads;
      for (const std::size_t row : rows) {
        const std::size_t steps = steps_of(of.rows[row]);
        const double power = of.rows[row].power.value();
        for (std::size_t load = 1; load < grid_.loads; ++load) {
          const double sum = from[load > steps ? load - steps : 0] + power;
          if (sum >= to[load]) continue;
          to[load] = sum;
          chosen[load] = static_cast<std::uint16_t>(row);
          better = true;
        }
      }
    }
    if (!better) return false;
    power_ = std::move(next);
    layers_.push_back(std::move(layer));
    return true;
  }

  std::size_t steps_of(const PoolRow& row) const {
    const double steps = std::round(row.load / grid_.step);
    return static_cast<std::size_t>(std::min(steps, static_cast<double>(grid_.loads)));
  }

  std::vector<PoolUse> go_back(std::size_t cell) const {
    std::vector<PoolUse> uses;
    for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
      const std::uint16_t row = layer->row[cell];
      if (row == kNone) continue;
      const PoolKind& kind = problem_.kinds[layer->kind];
      const std::size_t load = cell % grid_.loads;
      const std::size_t steps = std::min(load, steps_of(kind.rows[row]));
      cell -= steps;
      if (problem_.most_gpus) cell -= static_cast<std::size_t>(kind.gpus) * grid_.loads;
      const PoolUse use{layer->kind, row, 1};
      const auto same = std::find_if(uses.begin(), uses.end(), [&](const PoolUse& one) {
        return one.kind == use.kind && one.row == use.row;
      });
      if (same == uses.end()) {
        uses.push_back(use);
      } else {
        ++same->count;
      }
    }
    return uses;
  }

  const PoolProblem& problem_;
  const Grid& grid_;
  std::vector<double> power_;  ///< least to carry the cell's load with its GPUs
  std::vector<Layer> layers_;
};

}  // namespace

double common_step(const PoolProblem& problem) {
  constexpr double kFinest = 1000;  // parts of a token a second
  constexpr double kMostExact = 9e15;
  std::int64_t step = 0;
  for (const PoolKind& kind : problem.kinds) {
    for (const PoolRow& row : kind.rows) {
      const double parts = std::round(row.load * kFinest);
      if (parts < 1 || parts > kMostExact ||
          std::abs(parts / kFinest - row.load) > 1e-12 * row.load)
        return 0;
      step = std::gcd(step, static_cast<std::int64_t>(parts));
    }
  }
  return static_cast<double>(step) / kFinest;
}

Result<PoolPlan> solve_pool(const PoolProblem& problem) {
  PJ_CHECK(check_problem(problem));
  if (problem.load == 0) return plan_of_uses(problem, {});
  const double step = common_step(problem);
  if (step > 0 && problem.load / step < kMostKept) {
    const Grid grid = grid_of(problem, step);
    std::vector<std::vector<std::size_t>> rows;
    double work = 0;
    double kept = 0;
    bool narrow = true;
    for (std::size_t i = 0; i < problem.kinds.size(); ++i) {
      rows.push_back(useful_rows(problem.kinds[i], problem.load));
      const double cells = static_cast<double>(grid.cells()) * grid.instances[i];
      work += cells * static_cast<double>(rows.back().size());
      kept += cells;
      narrow = narrow && problem.kinds[i].rows.size() < std::numeric_limits<std::uint16_t>::max();
    }
    if (narrow && work < kMostWork && kept < kMostKept)
      return GridProgramme(problem, grid).run(rows);
  }
  return solve_pool_by_labels(problem);
}

}  // namespace perjoule
