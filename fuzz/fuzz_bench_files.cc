// Benchmark results of anyone's: whatever is read must be written and read again as our own, and
// every question the leaderboard asks must be answered.
#include <cstdlib>

#include "serving/board/claims.h"
#include "serving/board/leaderboard.h"
#include "serving/board/response_energy.h"
#include "serving/board/result_filter.h"
#include "serving/board/validity.h"
#include "workload/bench_files.h"
#include "workload/bench_result_json.h"
#include "workload/mlperf_loadgen.h"

namespace {

using namespace perjoule;

void write_and_read(const BenchResult& result) {
  const Json json = to_json(result);
  const auto again = bench_result_from_json(json, "again");
  if (!again || to_json(*again).dump() != json.dump()) std::abort();
}

void ask_everything(const std::vector<BenchResult>& results) {
  for (const BenchResult& result : results) {
    write_and_read(result);
    (void)check_validity(result);
    if (const auto energies = response_energies(result)) (void)in_log_bins(*energies);
  }
  (void)instabilities(results);
  (void)largest_batches(results);
  for (const Claim& claim : published_claims()) (void)claim.recompute(results);
  const auto selection = filter_results(results, {});
  if (!selection) return;
  for (const bool together : {false, true}) {
    for (const BoardGroup& group : board_groups(results, selection->rows, together)) {
      for (const EnergyPer per : {EnergyPer::kUnit, EnergyPer::kResponse}) {
        const auto board = make_board(results, group, {.per = per, .energy_budget = Joules(1)});
        // What the reader took without a word against it can be ranked.
        if (!board && board.error().code != ErrorCode::kNotFound) std::abort();
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto files = parse_bench_text(text, "run/llm/gpqa/results/f", Seconds(0));
  if (files) ask_everything(files->results);
  // MLPerf's detailed log is a text of its own, read for a result that is there.
  BenchResult server;
  server.task = "Server";
  server.model.id = server.origin.file = "m";
  server.load.delivered_per_s = 9;
  server.rates.output_tokens = 900;
  if (add_mlperf_detail(text, "f", server)) write_and_read(server);
  return 0;
}
