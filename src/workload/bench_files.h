// Everybody's benchmark results as one list: files, or whole folders of them.
//
//   PJ_TRY(const BenchFiles files, read_bench_files({"mlenergy_leaderboard/"}, {}));
//
// What a file is, is told by what stands in it: our own results (bench_result_json.h), ML.ENERGY's
// leaderboard files of both generations (mlenergy_v3.h, mlenergy_v2.h) and its raw results.json
// (mlenergy_raw.h), and what load generators write: vllm_bench.h, aiperf.h (genai-perf too),
// guidellm.h, trtllm_bench.h, mlperf_loadgen.h. A file named by the caller must be one of these; in
// a folder others are passed over and counted, but a JSON text that does not parse, or a row that
// cannot be read, is an error wherever it stands: a ranking that silently lacks a file is a wrong
// one.
//
// Where the same row stands in several files (v3 has each in a task's and in a model's file) it is
// one result, with what either knows. The same row twice in one file is kept, and said of it.
// Figures are checked (bench_identities.h); what is wrong goes into the result's validity.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/bench_result.h"

namespace perjoule {

struct BenchFilesOptions {
  /// Leaves out files that cannot be read, with a note each, rather than failing.
  bool skip_bad = false;
  /// What local time was ahead of UTC where the results were written; none: this machine's.
  std::optional<Seconds> utc_offset = {};
};

struct BenchFiles {
  std::vector<BenchResult> results;  ///< in order of file and row; tasks before models of v3
  std::vector<std::string> notes;    ///< what was left out or taken for one
  std::size_t read = 0;              ///< files that held results or names
  std::size_t passed_over = 0;       ///< files in folders that are of no known format
};

/// Fails with not_found when there is no such file or no result in all of them, with
/// invalid_argument on a malformed one or one of no known format; messages name file and row.
Result<BenchFiles> read_bench_files(const std::vector<std::string>& paths,
                                    const BenchFilesOptions& options);

/// One text; `name` is for messages and the results' origin. Fails with invalid_argument when it is
/// of no known format too. What stands beside a file (MLPerf's detailed log) is not read.
Result<BenchFiles> parse_bench_text(std::string_view text, std::string_view name,
                                    std::optional<Seconds> utc_offset = {});

}  // namespace perjoule
