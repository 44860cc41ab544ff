// One simulated iteration as a document, schema perjoule.pipeline-iteration.v1 (docs/formats.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/pipeline_options.h"
#include "pipeline/plan/iteration_detail.h"
#include "pipeline/plan/iteration_spread.h"

namespace perjoule::cli {

struct SimulatedIteration {
  std::string setting;                ///< what it ran at, for the reader
  std::vector<std::uint32_t> option;  ///< by activity, into its profiled instruction's options
  Iteration iteration;
  struct Plan {
    Seconds requested;
    Joules bound;  ///< no plan of that time takes less until then
    double gap = 0;
  };
  std::optional<Plan> plan;  ///< where it ran at one
  struct Samples {
    SamplingRequest request;
    IterationSpread spread;
  };
  std::optional<Samples> samples;  ///< where times were drawn anew
};

std::string iteration_document(const PipelineInput& input, const SimulatedIteration& simulated);

}  // namespace perjoule::cli
