// A benchmark result as perjoule.bench-result.v1 (docs/formats.md): what our own benchmark writes,
// one file a point. Members that are absent in the result are absent in the file; reading back
// loses nothing.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "workload/bench_result.h"

namespace perjoule {

inline constexpr std::string_view kBenchResultSchema = "perjoule.bench-result.v1";
/// Several of these as members of `results`.
inline constexpr std::string_view kBenchResultsSchema = "perjoule.bench-results.v1";

Json to_json(const BenchResult& result);

/// Reads what to_json writes; members it does not know are passed over. `name` is for messages and
/// the origin where the document names none. Fails with invalid_argument naming file and member,
/// with not_supported on another version of the format.
Result<BenchResult> bench_result_from_json(const Json& json, std::string_view name);

}  // namespace perjoule
