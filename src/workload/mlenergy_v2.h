// The tables of the ML.ENERGY leaderboard's second generation (2024, A100 and H100): llm.csv and
// diffusion.csv, one row a configuration.
//
// Energy there is per request; per output token it is that over the mean output length, and mean
// power is energy per token x token rate. The task "chat" of the family of models that see images
// is called "visual-chat" here: it is not the task of the text models.
#pragma once

#include <string_view>
#include <vector>

#include "base/csv.h"
#include "base/result.h"
#include "workload/bench_result.h"

namespace perjoule {

inline constexpr std::string_view kMlEnergyV2 = "ML.ENERGY v2";

/// Whether the table's columns are those of llm.csv or diffusion.csv.
bool is_mlenergy_v2(const CsvTable& table);

/// Errors name file, line and column.
Result<std::vector<BenchResult>> read_mlenergy_v2(const CsvTable& table);

}  // namespace perjoule
