// The files behind the ML.ENERGY leaderboard's third generation: tasks/TASK.json with all
// configurations of a task, models/ORG__NAME__TASK.json with those of one model and the lengths of
// its answers, and index.json with the names. docs/leaderboard.md has the fields.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "workload/bench_result.h"

namespace perjoule {

inline constexpr std::string_view kMlEnergyV3 = "ML.ENERGY v3";

/// What a document of these is; kNone: another.
enum class MlEnergyV3 { kNone, kIndex, kTask, kModel };
MlEnergyV3 mlenergy_v3_kind(const Json& document);

/// The configurations of a task's or a model's document. Errors name file and row.
Result<std::vector<BenchResult>> read_mlenergy_v3(const Json& document, std::string_view name);

/// The index's models, for what model files leave out.
Result<std::vector<BenchModel>> read_mlenergy_v3_index(const Json& document, std::string_view name);

}  // namespace perjoule
