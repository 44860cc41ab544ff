// Whether one benchmark result takes more energy than another by more than is allowed, beyond what
// the two are sure of: a gate for continuous integration.
//
//   PJ_TRY(const BenchComparison found, compare_bench(before, after, {.fail_above = 0.05}));
//   if (found.verdict == BenchVerdict::kWorse) return 1;
//
// Errors of gain that both share (one GPU's sensor) cancel, as everywhere (base/energy.h); what
// neither states, as results of other tools do, leaves a difference of unknown size.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "workload/bench_result.h"

namespace perjoule {

enum class BenchVerdict : std::uint8_t {
  kBetter,   ///< less energy, beyond the uncertainty
  kSame,     ///< within the allowance, or not beyond the uncertainty of it
  kWorse,    ///< more than allowed, beyond the uncertainty
  kUnknown,  ///< an energy is missing, void or one-sided, or the difference is less well known than
             ///< what is allowed
};
std::string_view name_of(BenchVerdict verdict);  ///< "better", "same", "worse", "unknown"

enum class BenchUnit : std::uint8_t { kItem, kResponse };

struct BenchCompareOptions {
  double fail_above = 0.05;           ///< relative
  BenchUnit unit = BenchUnit::kItem;  ///< an output token (image, video), or a whole response
};

struct BenchComparison {
  BenchVerdict verdict = BenchVerdict::kUnknown;
  Energy before;
  Energy after;
  Energy change = Energy::missing("");  ///< after less before
  double relative = 0;                  ///< of before
  double half_width = 0;                ///< of `relative`, k = 2
  std::vector<std::string> unlike;  ///< settings that differ, so that the two may not be comparable
  std::vector<std::string> notes;
  std::string reason;  ///< of kUnknown
};

/// invalid_argument for an allowance that is none, and for results of other kinds (text, images).
Result<BenchComparison> compare_bench(const BenchResult& before, const BenchResult& after,
                                      const BenchCompareOptions& options);

}  // namespace perjoule
