// Zeus (You et al., NSDI 2023) on a pipeline, as Perseus's evaluation has it: one setting for all
// stages, or one for each stage that brings it closest to the heaviest one. Settings stand for
// Zeus's power limits.
//
// Among the candidates the cost of an iteration counts, C = eta E + (1 - eta) Pmax T, Pmax being
// the highest mean power of any option, times the stages.
#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/plan/iteration.h"
#include "pipeline/plan/problem.h"

namespace perjoule {

struct ZeusCandidate {
  std::vector<std::uint32_t> option;  ///< by activity, into profiled(class).options
  Iteration iteration;
  double cost = 0;  ///< J
};

/// Every setting that all instructions share, but the lowest (Zeus leaves it out); cheapest first.
std::vector<ZeusCandidate> zeus_global(const PipelineProblem& problem, double eta = 0.5);

/// For each setting of the stage whose first instruction is slowest, every other stage is lowered
/// for as long as its time comes closer to that one's; cheapest first.
std::vector<ZeusCandidate> zeus_per_stage(const PipelineProblem& problem, double eta = 0.5);

}  // namespace perjoule
