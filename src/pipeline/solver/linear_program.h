// The least cost of a project by linear programming (GLPK): an independent answer to what the
// solver finds by flow. Include in tests only.
#pragma once

#include <glpk.h>

#include <cmath>
#include <optional>
#include <span>

#include "pipeline/solver/activity_network.h"
#include "pipeline/solver/cost_curve.h"

namespace perjoule {

/// Least cost of any schedule that ends by `makespan`, J; none where there is no such schedule.
/// Columns: an event time for the start and the end of each activity, and its cost; rows: each
/// segment's line lies below the cost.
inline std::optional<double> least_cost_by_lp(const ActivityNetwork& network,
                                              std::span<const std::uint32_t> curve_of,
                                              const CurveSet& curves, Ticks makespan) {
  const int count = static_cast<int>(network.size());
  glp_term_out(GLP_OFF);
  glp_prob* lp = glp_create_prob();
  glp_set_obj_dir(lp, GLP_MIN);
  glp_add_cols(lp, 3 * count);
  const auto start = [](std::uint32_t a) { return static_cast<int>(3 * a + 1); };
  const auto row = [lp](std::initializer_list<std::pair<int, double>> terms, double at_least) {
    int columns[5];
    double factors[5];
    int n = 0;
    for (const auto& [column, factor] : terms) {
      ++n;
      columns[n] = column;
      factors[n] = factor;
    }
    const int number = glp_add_rows(lp, 1);
    glp_set_mat_row(lp, number, n, columns, factors);
    glp_set_row_bnds(lp, number, GLP_LO, at_least, 0);
  };
  for (std::uint32_t a = 0; a < network.size(); ++a) {
    const auto durations = curves.durations(curve_of[a]);
    const int s = start(a);
    glp_set_col_bnds(lp, s, GLP_LO, 0, 0);
    glp_set_col_bnds(lp, s + 1, GLP_DB, 0, static_cast<double>(makespan));
    glp_set_col_bnds(lp, s + 2, GLP_LO, curves.cost(curve_of[a], durations.back()), 0);
    glp_set_obj_coef(lp, s + 2, 1);
    row({{s + 1, 1}, {s, -1}}, static_cast<double>(durations.front()));
    for (std::size_t k = 1; k < durations.size(); ++k) {
      const double high = curves.cost(curve_of[a], durations[k - 1]);
      const double slope = (high - curves.cost(curve_of[a], durations[k])) /
                           static_cast<double>(durations[k] - durations[k - 1]);
      row({{s + 2, 1}, {s + 1, slope}, {s, -slope}},
          high + slope * static_cast<double>(durations[k - 1]));
    }
    for (const std::uint32_t after : network.successors(a)) {
      row({{start(after), 1}, {s + 1, -1}}, 0);
    }
  }
  glp_smcp how;
  glp_init_smcp(&how);
  how.presolve = GLP_ON;
  std::optional<double> cost;
  if (glp_simplex(lp, &how) == 0 && glp_get_status(lp) == GLP_OPT) cost = glp_get_obj_val(lp);
  glp_delete_prob(lp);
  return cost;
}

}  // namespace perjoule
