// The part of the exact pool solver that needs no grid: rows that no other beats, and partial pools
// that no other beats. For pool_solver.cc.
#pragma once

#include <vector>

#include "fleet/plan/pool_problem.h"

namespace perjoule {

/// Rows of the kind that no other row of it beats (no less load, up to what is wanted, for no more
/// power), by rising load. O(rows log rows).
std::vector<std::size_t> useful_rows(const PoolKind& kind, double load);

}  // namespace perjoule
