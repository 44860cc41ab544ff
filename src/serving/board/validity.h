// Whether a benchmark result can be trusted: the checks of the ML.ENERGY benchmark's own validation
// and of the filter its data toolkit applies before publishing, on what the result recorded.
//
// | rule             | holds when                                                   | else   |
// | window           | steady state lasts at least 30 s                             | failed |
// | requests         | all of them completed                                        | failed |
// | energy per token | above 0 and at most 100 J                                    | failed |
// | instant power    | of each GPU within 70 W and 1.7 x TDP                        | failed |
// | average power    | of each GPU within 70 W and 1.1 x TDP                        | failed |
// | memory power     | of each GPU within 10 W and 0.5 x TDP                        | failed |
// | temperature      | less than 5 % of the samples below 20 or above 95 C          | failed |
// | engine           | no dead engine and no CUDA error in its log                  | failed |
// | sampling         | at least 75 % of the samples that were due                   | warned |
// | mean batch       | at least 80 % of max_num_seqs                                | warned |
// | length limit     | fewer than 30 % of the responses cut at the longest length   | warned |
// | cache            | the key-value cache is used to 80 % (of the largest batch)   | warned |
//
// A rule whose figures the result does not have is not checked; that is no pass.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workload/bench_result.h"

namespace perjoule {

enum class CheckState : std::uint8_t { kPassed, kWarned, kFailed, kNotChecked };
std::string_view name_of(CheckState state);  ///< "passed", "warned", "failed", "not checked"

struct ValidityCheck {
  std::string_view rule;
  CheckState state = CheckState::kNotChecked;
  std::string figure;  ///< what was found and what is wanted, or what is missing
};

/// All rules in the order above. The one about the cache is meant for the largest batch of a
/// configuration: `largest_batch` says whether this is it.
std::vector<ValidityCheck> check_validity(const BenchResult& result, bool largest_batch = true);

/// How many checks ended so.
std::size_t count_of(const std::vector<ValidityCheck>& checks, CheckState state);

/// The toolkit's filter: of each result, why it would not be published; empty: it would. Stable is
/// what has a window of at least 20 s, an energy above 0 and a mean batch of at least 85 % of
/// max_num_seqs; and once a batch limit is not, neither is any larger one of the same model, task,
/// GPU and number of GPUs. Figures that are missing are taken as good. O(n log n).
std::vector<std::string> instabilities(const std::vector<BenchResult>& results);

/// Of each result, whether no other of its model, task, GPUs and parallelism has a larger
/// max_num_seqs. O(n log n).
std::vector<bool> largest_batches(const std::vector<BenchResult>& results);

}  // namespace perjoule
