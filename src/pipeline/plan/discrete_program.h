// The least effective energy of measured options themselves, by mixed-integer programming (CBC):
// what the distance of a plan from the linear bound is made of. Include in tests and benchmarks
// only.
//
//   const DiscreteBest best = least_of_options(problem, makespan, plan.option, {.seconds = 60});
//   best.found;    // J of the best choice that was found
//   best.proven;   // J: no choice of options ends in time and takes less
//
// A binary an option, a start time an activity; one option each, every activity behind what it
// waits for, all ended by the makespan. Costs of changing a setting are not in it.
#pragma once

#include <Cbc_C_Interface.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/plan/problem.h"
#include "pipeline/solver/activity_network.h"

namespace perjoule {

struct DiscreteLimit {
  double seconds =
      1e9;  ///< of CPU time; a test limits nodes instead, so that it is the same everywhere
  int nodes = 1'000'000'000;
};

struct DiscreteBest {
  double found = 0;   ///< J; INFINITY where no choice in time was found
  double proven = 0;  ///< J; equal to `found` but for rounding where it is optimal
  bool optimal = false;
  std::vector<std::uint32_t> option = {};  ///< by activity, into problem.options(its class)
};

/// `start` is a choice to begin with, such as a plan's; empty for none.
inline DiscreteBest least_of_options(const PipelineProblem& problem, Ticks makespan,
                                     std::span<const std::uint32_t> start,
                                     const DiscreteLimit& limit) {
  // CBC's tolerances are absolute, some 1e-7: times are in thousandths of the makespan, so that the
  // last digit that it may be off by is far below a tick.
  const double unit = 1000 / static_cast<double>(makespan);
  const std::unique_ptr<Cbc_Model, void (*)(Cbc_Model*)> owned(Cbc_newModel(), Cbc_deleteModel);
  Cbc_Model* const model = owned.get();
  Cbc_setLogLevel(model, 0);
  const std::uint32_t count = problem.network().size();
  const auto options_of = [&](std::uint32_t a) -> const std::vector<PipelineOption>& {
    return problem.options(problem.class_of()[a]);
  };
  int columns = 0;
  std::vector<int> begins(count);        // the column of the activity's start
  std::vector<int> first_choice(count);  // and of its first option
  std::vector<int> chosen;
  for (std::uint32_t a = 0; a < count; ++a) {
    begins[a] = columns++;
    Cbc_addCol(model, "", 0, 1000, 0, 0, 0, nullptr, nullptr);
    first_choice[a] = columns;
    for (const PipelineOption& option : options_of(a)) {
      Cbc_addCol(model, "", 0, 1, option.effective, 1, 0, nullptr, nullptr);
      ++columns;
    }
    if (!start.empty()) chosen.push_back(first_choice[a] + static_cast<int>(start[a]));
  }
  std::vector<int> row;
  std::vector<double> factors;
  const auto add_row = [&](char sense, double right) {
    Cbc_addRow(model, "", static_cast<int>(row.size()), row.data(), factors.data(), sense, right);
    row.clear();
    factors.clear();
  };
  const auto term = [&](int column, double factor) {
    row.push_back(column);
    factors.push_back(factor);
  };
  for (std::uint32_t a = 0; a < count; ++a) {
    const std::vector<PipelineOption>& options = options_of(a);
    const auto end_of = [&](double sign) {
      term(begins[a], sign);
      for (std::size_t i = 0; i < options.size(); ++i) {
        term(first_choice[a] + static_cast<int>(i),
             sign * unit * static_cast<double>(options[i].duration));
      }
    };
    for (std::size_t i = 0; i < options.size(); ++i) term(first_choice[a] + static_cast<int>(i), 1);
    add_row('E', 1);
    end_of(1);
    add_row('L', 1000);
    for (const std::uint32_t after : problem.network().successors(a)) {
      end_of(-1);
      term(begins[after], 1);
      add_row('G', 0);
    }
  }
  if (!chosen.empty()) {
    const std::vector<double> ones(chosen.size(), 1);
    Cbc_setMIPStartI(model, static_cast<int>(chosen.size()), chosen.data(), ones.data());
  }
  Cbc_setMaximumSeconds(model, limit.seconds);
  Cbc_setMaximumNodes(model, limit.nodes);
  Cbc_setAllowableGap(model, 0);
  Cbc_setAllowableFractionGap(model, 0);
  Cbc_solve(model);

  DiscreteBest best{INFINITY, Cbc_getBestPossibleObjValue(model), Cbc_isProvenOptimal(model) != 0};
  const double* const solution = Cbc_bestSolution(model);
  if (solution == nullptr) return best;
  std::vector<Ticks> durations(count);
  double sum = 0;
  for (std::uint32_t a = 0; a < count; ++a) {
    const double* const values = solution + first_choice[a];
    const auto option = static_cast<std::uint32_t>(
        std::max_element(values, values + options_of(a).size()) - values);
    best.option.push_back(option);
    durations[a] = options_of(a)[option].duration;
    sum += options_of(a)[option].effective;
  }
  // In whole ticks it has to be in time as well.
  if (earliest_times(problem.network(), problem.order(), durations).makespan <= makespan) {
    best.found = sum;
  }
  return best;
}

}  // namespace perjoule
