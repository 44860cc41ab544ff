#include "fleet/plan/pool_integer_programme.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/shared_library.h"

namespace perjoule {
namespace {

// CBC 2.10's C interface as far as it is used (Cbc_C_Interface.h): its header would be needed to
// build.
using CbcModel = void;

struct Cbc {
  CbcModel* (*new_model)() = nullptr;
  void (*delete_model)(CbcModel*) = nullptr;
  void (*add_column)(CbcModel*, const char* name, double lower, double upper, double objective,
                     char is_integer, int count, int* rows, double* coefficients) = nullptr;
  void (*add_row)(CbcModel*, const char* name, int count, const int* columns,
                  const double* coefficients, char sense, double right_side) = nullptr;
  void (*set_log_level)(CbcModel*, int) = nullptr;
  void (*set_parameter)(CbcModel*, const char* name, const char* value) = nullptr;
  void (*set_allowable_gap)(CbcModel*, double) = nullptr;
  void (*set_allowable_share)(CbcModel*, double) = nullptr;
  int (*solve)(CbcModel*) = nullptr;
  int (*is_optimal)(CbcModel*) = nullptr;
  int (*is_infeasible)(CbcModel*) = nullptr;
  const double* (*solution)(CbcModel*) = nullptr;
};

struct Opened {
  SharedLibrary shared;
  Cbc functions;
};

Result<Opened> open_library(const std::string& name) {
  auto library = SharedLibrary::open(name);
  if (!library) {
    return Error::unavailable("the integer programme needs COIN-OR CBC, which is not here: " + name,
                              "install Debian's package coinor-libcbc3, or take --solver exact");
  }
  Opened opened{std::move(*library), {}};
  Cbc& cbc = opened.functions;
  bool complete = true;
  const auto load = [&](auto*& function, const char* symbol) {
    opened.shared.load(function, symbol);
    complete = complete && function != nullptr;
  };
  load(cbc.new_model, "Cbc_newModel");
  load(cbc.delete_model, "Cbc_deleteModel");
  load(cbc.add_column, "Cbc_addCol");
  load(cbc.add_row, "Cbc_addRow");
  load(cbc.set_log_level, "Cbc_setLogLevel");
  load(cbc.set_parameter, "Cbc_setParameter");
  load(cbc.set_allowable_gap, "Cbc_setAllowableGap");
  load(cbc.set_allowable_share, "Cbc_setAllowableFractionGap");
  load(cbc.solve, "Cbc_solve");
  load(cbc.is_optimal, "Cbc_isProvenOptimal");
  load(cbc.is_infeasible, "Cbc_isProvenInfeasible");
  load(cbc.solution, "Cbc_getColSolution");
  if (!complete) return Error::not_supported(name + " lacks a function of CBC 2.10");
  return opened;
}

/// A variable of the programme: how many instances of a kind run at a row.
struct Column {
  std::size_t kind;
  std::size_t row;
};

std::vector<Column> columns_of(const PoolProblem& problem) {
  std::vector<Column> columns;
  for (std::size_t kind = 0; kind < problem.kinds.size(); ++kind) {
    for (std::size_t row = 0; row < problem.kinds[kind].rows.size(); ++row)
      columns.push_back({kind, row});
  }
  return columns;
}

/// Adds a constraint over the columns that `coefficient` is not 0 of.
template <typename Coefficient>
void add_row(const Cbc& cbc, CbcModel* model, const std::vector<Column>& columns, const char* name,
             char sense, double right_side, const Coefficient& coefficient) {
  std::vector<int> places;
  std::vector<double> values;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const double value = coefficient(columns[i]);
    if (value == 0) continue;
    places.push_back(static_cast<int>(i));
    values.push_back(value);
  }
  if (places.empty()) return;
  cbc.add_row(model, name, static_cast<int>(places.size()), places.data(), values.data(), sense,
              right_side);
}

void add_rows(const Cbc& cbc, CbcModel* model, const PoolProblem& problem,
              const std::vector<Column>& columns) {
  // Loads of 10^5 beside counts of 1 would make CBC's absolute tolerance of 1e-6 matter: shares.
  add_row(cbc, model, columns, "load", 'G', 1, [&](const Column& column) {
    return problem.kinds[column.kind].rows[column.row].load / problem.load;
  });
  for (std::size_t kind = 0; kind < problem.kinds.size(); ++kind) {
    add_row(cbc, model, columns, "kind", 'L', problem.kinds[kind].most,
            [&](const Column& column) { return column.kind == kind ? 1.0 : 0.0; });
  }
  if (!problem.most_gpus) return;
  add_row(cbc, model, columns, "gpus", 'L', *problem.most_gpus,
          [&](const Column& column) { return problem.kinds[column.kind].gpus; });
}

Result<PoolPlan> plan_of_solution(const PoolProblem& problem, const std::vector<Column>& columns,
                                  const double* counts) {
  std::vector<PoolUse> uses;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const double count = std::round(counts[i]);
    if (count > 0) uses.push_back({columns[i].kind, columns[i].row, static_cast<int>(count)});
  }
  PoolPlan plan = plan_of_uses(problem, std::move(uses));
  const bool carried = plan.capacity >= problem.load * (1 - 1e-5);
  if (!carried || (problem.most_gpus && plan.gpus > *problem.most_gpus))
    return Error::internal("CBC's answer breaks the problem's limits");
  return plan;
}

}  // namespace

Result<PoolPlan> solve_pool_by_cbc(const PoolProblem& problem, const std::string& library) {
  PJ_CHECK(check_problem(problem));
  PJ_TRY(const Opened opened, open_library(library));
  const std::vector<Column> columns = columns_of(problem);
  if (problem.load == 0) return plan_of_uses(problem, {});
  if (columns.empty()) return PoolPlan{};
  const Cbc& cbc = opened.functions;
  CbcModel* const model = cbc.new_model();
  for (const Column& column : columns) {
    const PoolKind& kind = problem.kinds[column.kind];
    cbc.add_column(model, "count", 0, kind.most, kind.rows[column.row].power.value(), 1, 0, nullptr,
                   nullptr);
  }
  add_rows(cbc, model, problem, columns);
  cbc.set_log_level(model, 0);
  // With its integer preprocessing CBC 2.10.8 calls 146 W the least where 145 W do (see the test);
  // its presolve leaks. Neither is missed on problems this small.
  cbc.set_parameter(model, "preprocess", "off");
  cbc.set_parameter(model, "presolve", "off");
  cbc.set_allowable_gap(model, 0);
  cbc.set_allowable_share(model, 0);
  cbc.solve(model);
  Result<PoolPlan> plan = Error::internal("CBC ended without an answer");
  if (cbc.is_optimal(model) != 0) {
    plan = plan_of_solution(problem, columns, cbc.solution(model));
  } else if (cbc.is_infeasible(model) != 0) {
    plan = PoolPlan{};
  }
  cbc.delete_model(model);
  return plan;
}

}  // namespace perjoule
