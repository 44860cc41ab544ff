// Benchmark results (workload/bench_files.h) as a serving profile: every result is a point.
//
//   PJ_TRY(const BenchFiles files, read_bench_files({"sweep/"}, {}));
//   PJ_TRY(const ServingProfile profile, profile_of_results(files.results, {.clock_mhz = 1410}));
//
// | of the point | from the result |
// | load         | prompt tokens served a second: responses/s x mean input, else input tokens /
// duration, else total less output tokens/s | | power        | mean power of all GPUs | | ttft, tbt
// | TTFT and inter-token latency: mean, P90, P99, as far as they are there | | layout       | GPU
// model; parallel.tensor and parallel.pipeline, 1 x 1 for a single GPU | | clock        | setting
// "clock", "clock_mhz" or "gpu clock" |
//
// What a result does not say must be said by the caller; nothing is made up.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fleet/profile/serving_profile.h"
#include "workload/bench_result.h"

namespace perjoule {

/// What results do not say of themselves; where one does, it must agree.
struct BenchProfileOptions {
  std::optional<double> clock_mhz = {};
  std::optional<int> tensor_parallel = {};
  std::optional<int> pipeline_parallel = {};
  std::string load_class = {};
};

/// Results of images and videos, and those something speaks against, are left out with a note.
/// invalid_argument for one without load, power, layout or clock, naming its file and what to
/// state, and for two at one load of a curve; not_found where nothing is left. Status as that of
/// the result's energy; reconstructed where that is not stated. O(results log results).
Result<ServingProfile> profile_of_results(const std::vector<BenchResult>& results,
                                          const BenchProfileOptions& options);

}  // namespace perjoule
