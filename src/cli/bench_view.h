// What a benchmark's run says, for a terminal.
#pragma once

#include <string>

#include "serving/bench/bench_document.h"

namespace perjoule::cli {

std::string bench_text(const BenchResult& result, const BenchFigures& figures, const BenchRun& run,
                       const BenchContext& context);

}  // namespace perjoule::cli
