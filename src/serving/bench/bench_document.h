// A run's figures as a benchmark result, and as the document that is kept of it: the result
// (perjoule.bench-result.v1) with a member "run" that has all the rest. Who reads results reads
// over it.
#pragma once

#include "base/json.h"
#include "serving/bench/bench_figures.h"
#include "workload/bench_result.h"

namespace perjoule {

/// What the figures themselves do not know.
struct BenchContext {
  std::string task = {};
  BenchModel model = {};
  BenchEngine engine = {};  ///< its name is taken from the server's counters where it is empty
  BenchGpus gpus = {};
  BenchParallel parallel = {};
  BenchLoad load = {};  ///< as asked for
  std::optional<std::int64_t> max_num_seqs = {};
  Config settings = {};                 ///< that the user names
  std::vector<std::string> notes = {};  ///< of how the requests were made
};

/// O(requests + samples).
BenchResult bench_result(const BenchFigures& figures, const BenchRun& run,
                         const BenchContext& context);

Json bench_document(const BenchResult& result, const BenchFigures& figures, const BenchRun& run,
                    const BenchContext& context);

/// One request as a JSON object on a line: its instants from the run's beginning, its counts, how
/// it ended.
std::string request_line(const RequestRecord& record, Instant begun);

}  // namespace perjoule
