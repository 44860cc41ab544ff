// What must hold among the figures of one benchmark result, whoever wrote it. A violation does not
// stop a reader: it is said of the result, which is then not ranked.
//
// | of             | identity                                      |
// | text           | power = energy per output token x output rate |
// | text           | energy per response = energy per output token x mean output length |
// | image or video | power = energy x batch / batch latency        |
// | image or video | rate = batch / batch latency                  |
#pragma once

#include <string>
#include <vector>

#include "workload/bench_result.h"

namespace perjoule {

/// How far the two sides may lie apart, relative: what is written with all its digits agrees to
/// 1e-15.
inline constexpr double kIdentityTolerance = 1e-9;

/// How far one identity is off.
struct IdentityError {
  std::string identity;  ///< in words
  double relative = 0;   ///< |left / right - 1|
};

/// All identities whose figures are there.
std::vector<IdentityError> identity_errors(const BenchResult& result);

/// What is wrong with the figures, a sentence each: identities off by more than the tolerance, and
/// energies, powers, rates and latencies that are not above zero.
std::vector<std::string> wrong_figures(const BenchResult& result);

}  // namespace perjoule
