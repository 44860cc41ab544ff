// Joules for a benchmark that measured none: a result whose file tells when the run was
// (BenchWindow), and a log of power over that time (power_log.h), joined by time.
//
//   PJ_TRY(const BenchJoin join, join_power(result, log, {}));
//   join.result.energy.output_token;   // with uncertainty, reconstructed
//
// E = sum over devices of the integral of power over the window, each device by its own samples.
// What is not known of it, one sigma each:
//
// | part     | formula | |
// | place    | max |E(shifted by +-d, +-d/2) - E| / sqrt(3), d: how far the window may be displaced
// | length and shape of the course are kept: it is the steps of power near the edges that count |
// | stamps   | the same with d: how far a sample's stamp may be from the time it speaks of | |
// | sampling | sqrt(sum (dP dt)^2 / 12) over the pieces between samples, devices in quadrature |
// power_steps.h | | gap      | dt (Pmax - Pmin) / sqrt(12) for time without a sample, above 2 s and
// 5 % of the window | | | gain     | g E / sqrt(3) of each device, systematic: it cancels in a
// comparison of two results of the device | |
//
// A window that the log does not cover is data_loss, and so is one of which more than half is gaps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/energy.h"
#include "base/result.h"
#include "workload/bench_result.h"
#include "workload/power_log.h"

namespace perjoule {

struct JoinOptions {
  /// Relative, in place of what the log's kind documents.
  std::optional<double> gain = {};
  /// What the log is of, where it does not say.
  std::optional<Boundary> boundary = {};
  /// In place of what is known of the window's place.
  std::optional<Seconds> known_within = {};
};

/// One sigma each; see above.
struct JoinBudget {
  Joules place;
  Joules stamps;
  Joules sampling;
  Joules gap;
  Joules gain;  ///< of all devices together, independent of one another
};

struct BenchJoin {
  BenchResult result;  ///< with energies, power and rates of the window
  Energy energy;       ///< of the window
  JoinBudget budget;
  std::size_t devices = 0;
  std::vector<std::string> notes;  ///< what a reader must know, one sentence each
};

/// Errors: invalid_argument where the result tells no window (say when it was), or neither log nor
/// options a boundary, or they contradict; data_loss as above, naming device and by how much.
/// O(samples).
Result<BenchJoin> join_power(const BenchResult& result, const PowerLog& log,
                             const JoinOptions& options);

}  // namespace perjoule
