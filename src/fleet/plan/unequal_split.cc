#include "fleet/plan/unequal_split.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "fleet/plan/pool_solver.h"

namespace perjoule {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMostWork = 1e8;
constexpr double kMostCells = 1.5e7;
constexpr std::size_t kMostRows = 512;

/// A step that all loads of the profile's points are multiples of; 0 where there is none.
double step_of(const ServerCurves& servers) {
  PoolProblem loads;
  PoolKind kind;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    for (const ServingPoint& point : servers.curve(i).points) {
      if (point.load > 0) kind.rows.push_back({point.load * servers.instances(i), point.power, i});
    }
  }
  loads.kinds.push_back(std::move(kind));
  return common_step(loads);
}

}  // namespace

UnequalSplit::UnequalSplit(const ServerCurves& servers, int most) : servers_(servers) {
  const auto highest = servers.highest_load({});
  if (!highest || most < 1) return;
  highest_ = *highest;
  const auto n = static_cast<double>(most);
  step_ = step_of(servers) / 4;
  // A server at no load is a row, too.
  if (!(step_ > 0) || highest_ / step_ >= kMostRows) step_ = highest_ / 64;
  if (!(step_ > 0)) step_ = 1;
  const auto rows = [&] { return std::floor(highest_ / step_ * (1 + 1e-12)) + 1; };
  while (rows() > 2 && (n * n * rows() * rows() > kMostWork || n * n * rows() > kMostCells))
    step_ *= 2;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows()); ++i)
    row_.push_back(servers.cheapest(std::min(static_cast<double>(i) * step_, highest_), {}));
  if (n * n * rows() > kMostCells) return;  // nothing but equal splits
  sums_ = (row_.size() - 1) * static_cast<std::size_t>(most - 1) + 1;
  power_.assign(sums_ * static_cast<std::size_t>(most), kInfinity);
  choice_.assign(power_.size(), 0);
  cell(0, 0) = 0;
  for (std::size_t k = 1; k < static_cast<std::size_t>(most); ++k) {
    for (std::size_t load = 0; load < row_.size(); ++load) {
      if (!row_[load]) continue;
      const double more = row_[load]->power.value();
      const std::size_t last = (row_.size() - 1) * (k - 1);
      for (std::size_t sum = 0; sum <= last; ++sum) {
        const double power = cell(k - 1, sum) + more;
        if (power >= cell(k, sum + load)) continue;
        cell(k, sum + load) = power;
        choice_[k * sums_ + sum + load] = static_cast<std::uint16_t>(load);
      }
    }
  }
}

std::optional<UnequalSplit::Last> UnequalSplit::best(int n, double load) const {
  const auto k = static_cast<std::size_t>(n - 1);
  if (power_.empty() || (k + 1) * sums_ > power_.size()) return std::nullopt;
  std::optional<Last> found;
  const double least = std::max(0.0, std::ceil((load - highest_) / step_ * (1 - 1e-12)));
  const double most =
      std::min(std::floor(load / step_ * (1 + 1e-12)), static_cast<double>((row_.size() - 1) * k));
  for (double at = least; at <= most; ++at) {
    const auto sum = static_cast<std::size_t>(at);
    if (cell(k, sum) == kInfinity) continue;
    const auto use = servers_.cheapest(std::max(0.0, load - at * step_), {});
    if (!use) continue;
    const Watts power = Watts(cell(k, sum)) + use->power;
    if (!found || power < found->power) found = Last{sum, *use, power};
  }
  return found;
}

std::optional<Watts> UnequalSplit::power(int n, double load) const {
  const auto unequal = best(n, load);
  const auto equal = servers_.cheapest(load / n, {});
  if (!unequal && !equal) return std::nullopt;
  if (!unequal || (equal && equal->power * n <= unequal->power)) return equal->power * n;
  return unequal->power;
}

std::optional<ServerSplit> UnequalSplit::split(int n, double load) const {
  const auto unequal = best(n, load);
  const auto equal = servers_.cheapest(load / n, {});
  if (!unequal && !equal) return std::nullopt;
  if (!unequal || (equal && equal->power * n <= unequal->power))
    return ServerSplit{equal->power * n, {{equal->curve, n}}};
  std::map<std::size_t, int> counts;
  ++counts[unequal->use.curve];
  std::size_t sum = unequal->sum;
  for (auto k = static_cast<std::size_t>(n - 1); k > 0; --k) {
    const std::size_t load_of_one = choice_[k * sums_ + sum];
    ++counts[row_[load_of_one]->curve];
    sum -= load_of_one;
  }
  ServerSplit split{unequal->power, {}};
  for (const auto& [curve, servers] : counts) split.parts.push_back({curve, servers});
  return split;
}

}  // namespace perjoule
