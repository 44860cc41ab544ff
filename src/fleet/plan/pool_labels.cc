#include "fleet/plan/pool_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "fleet/plan/pool_solver.h"

namespace perjoule {
namespace {

/// Labels kept at once, 40 bytes each.
constexpr std::size_t kMostLabels = 4'000'000;

/// A partial pool: what it carries (cut at what is wanted), draws and takes; how it came about.
struct Label {
  double load = 0;
  double power = 0;
  int gpus = 0;
  std::size_t kind = 0;
  std::size_t row = 0;
  std::ptrdiff_t before = -1;  ///< the label it extends
};

/// Labels by load; of those kept none has both less load and no less power than another with no
/// more GPUs. One staircase (load rising, power rising) for each number of GPUs.
class Staircases {
 public:
  /// Whether a label with no more GPUs carries no less for no more power.
  bool beats(const Label& label) const {
    for (const auto& [gpus, steps] : steps_) {
      if (gpus > label.gpus) break;
      const auto at = steps.lower_bound(label.load);
      if (at != steps.end() && at->second <= label.power) return true;
    }
    return false;
  }

  void keep(const Label& label) {
    std::map<double, double>& steps = steps_[label.gpus];
    const auto at = steps.insert_or_assign(label.load, label.power).first;
    // Those below that draw no less are beaten now; they lie next to it.
    auto below = at;
    while (below != steps.begin() && std::prev(below)->second >= label.power)
      below = steps.erase(std::prev(below));
  }

 private:
  std::map<int, std::map<double, double>> steps_;
};

class LabelProgramme {
 public:
  explicit LabelProgramme(const PoolProblem& problem)
      : problem_(problem), least_load_(problem.load * (1 - 1e-12)) {}

  Result<PoolPlan> run() {
    labels_.push_back({});
    Staircases kept;
    kept.keep(labels_.front());
    std::vector<std::size_t> alive = {0};
    for (std::size_t kind = 0; kind < problem_.kinds.size(); ++kind) {
      // Each layer extends the labels with one instance fewer of the kind.
      std::vector<std::size_t> layer = alive;
      for (int i = 0; i < problem_.kinds[kind].most && !layer.empty(); ++i) {
        PJ_TRY(layer, extended(layer, kind, kept));
        alive.insert(alive.end(), layer.begin(), layer.end());
      }
    }
    std::ptrdiff_t best = -1;
    for (const std::size_t i : alive) {
      if (labels_[i].load < least_load_) continue;
      if (best < 0 || labels_[i].power < labels_[static_cast<std::size_t>(best)].power)
        best = static_cast<std::ptrdiff_t>(i);
    }
    if (best < 0) return PoolPlan{};
    return plan_of_uses(problem_, uses_of(best));
  }

 private:
  Result<std::vector<std::size_t>> extended(const std::vector<std::size_t>& layer, std::size_t kind,
                                            Staircases& kept) {
    std::vector<std::size_t> next;
    const PoolKind& of = problem_.kinds[kind];
    const std::vector<std::size_t> rows = useful_rows(of, problem_.load);
    for (const std::size_t from : layer) {
      if (labels_[from].load >= least_load_) continue;
      for (const std::size_t row : rows) {
        Label label = labels_[from];
        label.load = std::min(label.load + of.rows[row].load, problem_.load);
        label.power += of.rows[row].power.value();
        label.gpus += of.gpus;
        if (problem_.most_gpus && label.gpus > *problem_.most_gpus) continue;
        if (!problem_.most_gpus) label.gpus = 0;
        if (kept.beats(label)) continue;
        label.kind = kind;
        label.row = row;
        label.before = static_cast<std::ptrdiff_t>(from);
        if (labels_.size() >= kMostLabels) {
          return Error::not_supported(
              fmt::format("the pool problem is too large for the exact solver: above {} partial "
                          "pools",
                          kMostLabels),
              "round the loads to a common step, or take --solver cbc");
        }
        kept.keep(label);
        next.push_back(labels_.size());
        labels_.push_back(label);
      }
    }
    return next;
  }

  std::vector<PoolUse> uses_of(std::ptrdiff_t at) const {
    std::map<std::pair<std::size_t, std::size_t>, int> counts;
    while (labels_[static_cast<std::size_t>(at)].before >= 0) {
      const Label& label = labels_[static_cast<std::size_t>(at)];
      ++counts[{label.kind, label.row}];
      at = label.before;
    }
    std::vector<PoolUse> uses;
    uses.reserve(counts.size());
    for (const auto& [place, count] : counts) uses.push_back({place.first, place.second, count});
    return uses;
  }

  const PoolProblem& problem_;
  double least_load_;  ///< what rounding leaves counts as enough
  std::vector<Label> labels_;
};

}  // namespace

std::vector<std::size_t> useful_rows(const PoolKind& kind, double load) {
  std::vector<std::size_t> order(kind.rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto carried = [&](std::size_t i) { return std::min(kind.rows[i].load, load); };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (carried(a) != carried(b)) return carried(a) > carried(b);
    return kind.rows[a].power != kind.rows[b].power ? kind.rows[a].power < kind.rows[b].power
                                                    : a < b;
  });
  std::vector<std::size_t> useful;
  for (const std::size_t i : order) {
    if (useful.empty() || kind.rows[i].power < kind.rows[useful.back()].power) useful.push_back(i);
  }
  std::reverse(useful.begin(), useful.end());
  return useful;
}

Result<PoolPlan> solve_pool_by_labels(const PoolProblem& problem) {
  PJ_CHECK(check_problem(problem));
  if (problem.load == 0) return plan_of_uses(problem, {});
  return LabelProgramme(problem).run();
}

}  // namespace perjoule
