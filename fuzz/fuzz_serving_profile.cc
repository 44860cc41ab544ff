// Serving profiles from anyone, and tables of loads: what is accepted must be sound, survive our
// own format, and be planned with without a plan that breaks its limits.
#include <cstdlib>

#include "fleet/plan/clock_choice.h"
#include "fleet/plan/load_curve.h"
#include "fleet/plan/pool_solver.h"
#include "fleet/plan/price_series.h"
#include "fleet/plan/server_curves.h"
#include "fleet/profile/beam_profile.h"
#include "fleet/profile/profile_table.h"

namespace {

using namespace perjoule;

constexpr LatencyTarget kTarget{{LatencyStatistic::kMean, Seconds(2)},
                                {LatencyStatistic::kMean, Seconds(0.1)}};

void write_and_read(const ServingProfile& profile) {
  const auto table = parse_csv(profile_csv(profile), "again");
  if (!table) std::abort();
  const auto again = read_profile_table(*table);
  // Milliseconds are written for seconds: what has no end then was at the end of numbers before.
  if (!again) return;
  if (again->curves.size() != profile.curves.size()) std::abort();
  for (std::size_t i = 0; i < profile.curves.size(); ++i) {
    if (again->curves[i].points.size() != profile.curves[i].points.size()) std::abort();
    if (again->curves[i].points.front().power != profile.curves[i].points.front().power)
      std::abort();
  }
}

void plan(const ServingProfile& profile) {
  const double load = profile.curves.front().points.back().load;
  const ClockChoice choice = choose_clock(profile, load, kTarget);
  if (choice.chosen && choice.nearest) std::abort();
  PoolProblem problem{pool_kinds(profile, kTarget), load * 2.5, 16};
  for (PoolKind& kind : problem.kinds) kind.most = 4;
  const auto pool = solve_pool(problem);
  if (pool && pool->feasible && (pool->gpus > 16 || pool->capacity < problem.load * (1 - 1e-9)))
    std::abort();
  const auto servers = ServerCurves::make(profile, kTarget);
  if (servers) (void)best_equal_split(*servers, load * 3, 4, {});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto table = parse_csv(text, "f");
  if (!table) return 0;
  (void)read_prices(*table);
  if (const auto curve = read_load_curve(*table, {"rate", 1000, 1}); curve && !check_load(*curve))
    std::abort();
  auto profile = read_profile_table(*table);
  if (!profile) profile = read_beam_profile(*table, {"g", "m"});
  if (!profile) return 0;
  if (!check_profile(*profile)) std::abort();
  write_and_read(*profile);
  plan(*profile);
  return 0;
}
