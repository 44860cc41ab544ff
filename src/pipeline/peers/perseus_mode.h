// The peer's way to the frontier, step by step: what Perseus (Chung et al., SOSP 2024) and its
// solver lowtime make of a profile, for comparing with published figures. Not for plans: it rounds
// times down to a unit, replaces the measurements by a fitted curve, and so promises energies that
// its plans do not have.
//
//   candidates: quantise times down, subtract the blocking power, drop what others beat
//   model:      cost(q) = a exp(b q) + c, by least squares over the candidates
//   frontier:   durations are whole units; one point a unit, from slow to fast, the all-slowest
//               starting point left out
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "pipeline/peers/exponential_fit.h"
#include "pipeline/profile/profile.h"
#include "pipeline/schedule/schedule.h"

namespace perjoule {

/// Two releases of the peer filter in different orders: the research artifact drops what is beaten
/// in time and raw energy and subtracts the blocking power then, the open release the other way
/// round.
enum class PerseusFilter { kArtifact, kOpenRelease };

struct PerseusOptions {
  Seconds unit{1e-3};
  Watts blocking;
  PerseusFilter filter = PerseusFilter::kArtifact;
  double noise_factor = 0.95;  ///< of the second attempt, where three or fewer options are left
};

struct PerseusCandidate {
  std::int64_t quantised = 0;  ///< units
  Seconds time;
  Joules effective;
  std::uint32_t index = 0;  ///< into the instruction's options
};

/// Slowest first, at most one a quantised time.
std::vector<PerseusCandidate> perseus_candidates(const ProfiledInstruction& instruction,
                                                 const PerseusOptions& options);

/// A stage's instruction as the peer models it.
struct PerseusModel {
  const ProfiledInstruction* instruction = nullptr;
  std::vector<PerseusCandidate> candidates;
  ExponentialFit fit;
};

/// One for each stage and instruction of the schedule, stage by stage.
Result<std::vector<PerseusModel>> perseus_models(const PipelineProfile& profile,
                                                 const PipelineSchedule& schedule,
                                                 const PerseusOptions& options);

struct PerseusPoint {
  std::int64_t quantised = 0;  ///< units
  Seconds time;
  Joules effective;
  Joules total;  ///< with the blocking power of all stages over the whole iteration
};

/// The peer's frontier, slow to fast.
Result<std::vector<PerseusPoint>> perseus_frontier(const PipelineSchedule& schedule,
                                                   const std::vector<PerseusModel>& models,
                                                   const PerseusOptions& options);

}  // namespace perjoule
