// How rankings of benchmark results, and one model's frontier, are shown: as text for people and as
// perjoule.leaderboard.v1.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "serving/board/leaderboard.h"
#include "workload/bench_result.h"

namespace perjoule::cli {

struct LeaderboardView {
  const std::vector<BenchResult>& results;
  EnergyPer per = EnergyPer::kUnit;
  bool context = false;
  bool tdp = false;
  bool validity = false;
  bool all = false;   ///< of a frontier, dominated points too
  bool plot = false;  ///< of a frontier
  std::vector<bool> largest =
      {};  ///< of each result, whether its batch limit is its group's largest
};

/// A ranking: heading, table, what it rests on, and what nothing meets.
std::string board_text(const LeaderboardView& view, const Board& board);
Json board_json(const LeaderboardView& view, const Board& board);

/// One model's frontier and the choice on it.
struct FrontierOfModel {
  const BoardGroup& group;
  LatencyMetric metric;
  const ModelChoice& made;
};
std::string model_text(const LeaderboardView& view, const FrontierOfModel& model);
Json model_json(const LeaderboardView& view, const FrontierOfModel& model);

/// "lm-arena-chat (ML.ENERGY v3)".
std::string title_of(const std::string& task, const std::string& benchmark);
/// "energy per token", "energy per response", "energy per image".
std::string energy_name(BenchKind kind, EnergyPer per);
/// "infeasible: ... 36.0318 ms (2 x B200, max_num_seqs 16), 20.1 % above 30.00 ms".
std::string miss_text(const BenchResult& nearest, const Miss& miss);

}  // namespace perjoule::cli
