// EnvPipe (Choi et al., USENIX ATC 2023) as a baseline: clocks are lowered everywhere except on the
// outer envelope of the pipeline, and raised again until the critical path lies in it.
//
//   envelope   every instruction of the last stage, the first forward and the last backward of
//   every
//              other stage: what a pipeline with the heaviest stage last cannot do without
//   start      the envelope at the highest setting, each other stage at the setting of least energy
//              of its instructions together
//   step       walk the critical path back from the first stage's last instruction, staying on a
//              stage where it did not wait; raise what lies on it outside the envelope
//   end        when all of the path is envelope or at its highest setting
//
// It assumes that the last stage is the heaviest; on other pipelines it raises more than it needs.
#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/plan/problem.h"

namespace perjoule {

enum class EnvPipeRaise {
  kBalanced,  ///< all instructions at the path's lowest setting, by one setting
  kGreedy,    ///< the last instruction of the path that can be raised, by six settings
};

struct EnvPipeResult {
  std::vector<std::uint32_t> option;  ///< by activity, into profiled(class).options
  int raises = 0;
  bool in_envelope = false;  ///< the critical path ended in the envelope, not at the step limit
};

/// At most 10,000 steps of O(activities) each; then the envelope stays at its highest setting and
/// the rest where it is, as in Perseus's evaluation.
EnvPipeResult env_pipe(const PipelineProblem& problem, EnvPipeRaise raise);

}  // namespace perjoule
