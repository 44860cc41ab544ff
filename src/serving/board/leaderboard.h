// Rankings of models by the energy of their answers, over everybody's benchmark results.
//
//   PJ_TRY(const BenchFiles files, read_bench_files({"mlenergy_leaderboard/"}, {}));
//   PJ_TRY(const ResultSelection selection, filter_results(files.results, filter));
//   for (const BoardGroup& group : board_groups(files.results, selection.rows, false))
//     show(make_board(files.results, group, query));
//
// Of each model the configuration of least energy is picked among those within the deadline and the
// energy budget, both inclusive; of several with the same energy the first in the order of the
// files. Energy is per output token, or per response when asked, per image or per video. The rows
// stand by that energy, ascending.
//
// Results of one task by unlike benchmarks (methods, generations, prompts) are groups of their own
// unless put together on request: a joule per token of one is no joule per token of another.
//
// The saving is against the model's own latency-minimising configuration in the selection, told per
// unit and per response: the two differ where the length of the answers changes with the
// configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "frontier/frontier.h"
#include "serving/board/gpu_tdp.h"
#include "serving/board/latency_metric.h"
#include "workload/bench_result.h"

namespace perjoule {

/// Results that are ranked together.
struct BoardGroup {
  std::string benchmark;  ///< empty: several, put together
  std::string task;
  BenchKind kind = BenchKind::kText;
  std::vector<std::size_t> rows;  ///< indices of results
};

/// In order of first appearance. O(n log n).
std::vector<BoardGroup> board_groups(const std::vector<BenchResult>& results,
                                     const std::vector<std::size_t>& rows, bool together);

enum class EnergyPer : std::uint8_t { kUnit, kResponse };

struct BoardQuery {
  EnergyPer per = EnergyPer::kUnit;
  /// None: median ITL of text, where no result has it mean TPOT; batch latency of images and
  /// videos.
  std::optional<LatencyMetric> metric = {};
  /// None: as the ML.ENERGY leaderboard: 500 ms, 30 s for an image, 300 s for a video.
  std::optional<Seconds> deadline = {};
  std::optional<Joules> energy_budget = {};  ///< per unit, or per response when ranked by it
};

LatencyMetric default_metric(const std::vector<BenchResult>& results, const BoardGroup& group);
Seconds default_deadline(BenchKind kind);

/// The energy a query ranks by; null when the result does not have it, or only as a bound.
const Energy* ranked_energy(const BenchResult& result, EnergyPer per);

/// The choice for one model.
struct ModelChoice {
  Frontier frontier;
  Choice choice;                     ///< its indices are those of the frontier's points
  std::vector<std::size_t> results;  ///< of each point the index of its result

  std::size_t chosen() const { return results[choice.chosen]; }
  std::size_t fastest() const { return results[choice.baseline]; }
};

/// `rows` are the model's results; those without the latency or the energy are no candidates. Fails
/// with not_found when none has both. What nothing meets is an answer, with the nearest miss.
Result<ModelChoice> choose_for_model(const std::vector<BenchResult>& results,
                                     const std::vector<std::size_t>& rows, EnergyPer per,
                                     const LatencyMetric& metric, Seconds deadline,
                                     std::optional<Joules> energy_budget);

/// 1 - chosen / fastest, of the energy per unit and per response; none where either lacks it.
std::optional<double> unit_saving(const BenchResult& chosen, const BenchResult& fastest);
std::optional<double> response_saving(const BenchResult& chosen, const BenchResult& fastest);

/// The settings of a result as a frontier's point has them.
Config settings_of(const BenchResult& result);

struct BoardRow {
  std::size_t result = 0;   ///< the configuration picked
  std::size_t fastest = 0;  ///< the model's latency-minimising one
  std::size_t candidates = 0;
  std::size_t feasible = 0;
  Joules energy;    ///< what it is ranked by
  Seconds latency;  ///< by the board's metric
  std::optional<double> saved_per_unit = {};
  std::optional<double> saved_per_response = {};
  int stars_by_range = 0;
  int stars_by_rank = 0;
  std::optional<Joules> per_correct = {};  ///< joules per correct answer: per response / accuracy
  std::optional<TdpEstimate> tdp = {};
};

/// A model of which no configuration meets deadline and budget.
struct BoardMiss {
  std::size_t nearest = 0;  ///< result
  std::size_t candidates = 0;
  Miss miss;
};

struct Board {
  std::string benchmark;
  std::string task;
  BenchKind kind = BenchKind::kText;
  EnergyPer per = EnergyPer::kUnit;
  LatencyMetric metric;
  Seconds deadline;
  std::size_t configurations = 0;  ///< candidates over all models
  std::vector<BoardRow> rows;
  std::vector<BoardMiss> misses;   ///< by how much they miss, least first
  std::vector<std::string> notes;  ///< what was left out or taken for granted
};

/// Fails with not_found when no result of the group has the latency and the energy asked for.
/// O(n log n).
Result<Board> make_board(const std::vector<BenchResult>& results, const BoardGroup& group,
                         const BoardQuery& query);

}  // namespace perjoule
