#include "fleet/control/instance_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace perjoule {
namespace {

/// Classes from the shortest to the longest: none comes before one that it dominates.
constexpr std::array<LoadClass, kLoadClasses> kByLength = {0, 1, 3, 2, 4, 6, 5, 7, 8};
constexpr LoadClass kLargest = kLoadClasses - 1;
/// So little of a server's load is not worth another one.
constexpr double kNotWorthOne = 0.01;

/// The larger pool that takes a server's rest best: the next in length that has load of its own,
/// else the largest.
std::size_t larger_pool(LoadClass one, const ClassLoads& expected) {
  for (const LoadClass other : kByLength) {
    if (other != one && dominates(other, one) && expected[other] > 0) return other;
  }
  return kLargest;
}

double capacity_of(LoadClass one, const ClassLoads& per_server) {
  if (per_server[one] > 0) return per_server[one];
  const double any = *std::max_element(per_server.begin(), per_server.end());
  return any > 0 ? any : 1;
}

}  // namespace

int whole_servers(double servers) { return static_cast<int>(std::clamp(servers, 0.0, 1e6)); }

int InstancePlan::total() const { return std::accumulate(servers.begin(), servers.end(), 0); }

void limit_servers(InstancePlan& plan, int most) {
  if (plan.total() <= most) return;
  for (const LoadClass one : kByLength) {
    plan.servers[one] = std::max(0, plan.servers[one] - std::max(0, plan.total() - most));
    const double rest = plan.filled[one] - plan.servers[one];
    if (one == kLargest || rest <= kNotWorthOne) continue;
    const std::size_t to = plan.spill[one] ? plan.spill[one]->to : std::size_t{kLargest};
    const double before = plan.spill[one] ? plan.spill[one]->share * plan.filled[one] : 0;
    plan.spill[one] = Spill{to, rest / plan.filled[one]};
    plan.filled[to] += std::max(0.0, rest - before);
  }
}

InstancePlan plan_instances(const ClassLoads& expected, const ClassLoads& per_server,
                            double mixed) {
  InstancePlan plan;
  std::array<double, kLoadClasses> carried = {};  // servers' worth from smaller pools
  for (const LoadClass one : kByLength) {
    const double alone = capacity_of(one, per_server);
    const double shared = mixed > 0 ? std::min(alone, mixed) : alone;
    plan.filled[one] =
        carried[one] > 0 ? expected[one] / shared + carried[one] : expected[one] / alone;
    const bool is_last = one == kLargest || larger_pool(one, expected) == one;
    if (is_last) {
      plan.servers[one] = whole_servers(std::ceil(plan.filled[one] - kNotWorthOne));
      continue;
    }
    const double whole = per_server[one] > 0 ? std::floor(plan.filled[one] + kNotWorthOne) : 0;
    plan.servers[one] = whole_servers(whole);
    const double rest = std::max(0.0, plan.filled[one] - whole);
    if (rest == 0 || plan.filled[one] == 0) continue;
    const std::size_t to = larger_pool(one, expected);
    plan.spill[one] = Spill{to, rest / plan.filled[one]};
    carried[to] += rest * (carried[one] > 0 ? 1 : alone / shared);
  }
  // What little there is needs one server all the same.
  const double all = std::accumulate(expected.begin(), expected.end(), 0.0);
  if (plan.total() == 0 && all > 0) plan.servers[kLargest] = 1;
  return plan;
}

}  // namespace perjoule
