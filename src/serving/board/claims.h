// Published claims about the energy of inference, recomputed from benchmark results: each beside
// the published figure, with the difference and the reason for it.
//
//   for (const Claim& claim : published_claims()) show(claim, claim.recompute(results));
//
// A claim is recomputed from whatever results are given; where those it speaks of are not among
// them it says so. docs/leaderboard.md lists the definitions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/bench_result.h"

namespace perjoule {

struct ClaimFigure {
  std::string what;
  std::optional<double> published = {};  ///< none: the claim has no number for it
  double here = 0;
  std::string unit = {};  ///< "x", "%", "s", "J"
  double within = 0;      ///< half a unit of the last digit published
};

enum class ClaimVerdict : std::uint8_t {
  kReproduced,  ///< every published figure to its last digit, or what the claim says in words
  kClose,       ///< every published figure within 5 %
  kInPart,      ///< holds for some of these results and not for others
  kDiffers,
  kNotInData,  ///< the results it speaks of are not here; figures, if any, are the nearest there
               ///< are
};
std::string_view name_of(ClaimVerdict verdict);

struct ClaimAnswer {
  ClaimVerdict verdict = ClaimVerdict::kNotInData;
  std::vector<ClaimFigure> figures = {};
  std::string reason = {};  ///< where the figures come from, and why they differ
};

struct Claim {
  std::string_view name;       ///< one word, for the command line: "tdp-overestimate"
  std::string_view statement;  ///< the claim in a sentence
  ClaimAnswer (*recompute)(const std::vector<BenchResult>&);
};

/// All that benchmark results can say something about, in a fixed order.
const std::vector<Claim>& published_claims();

/// Claims about inference energy that need other data than benchmark results: what, and what it
/// needs.
struct ClaimElsewhere {
  std::string_view statement;
  std::string_view needs;
};
const std::vector<ClaimElsewhere>& claims_elsewhere();

/// The verdict that the published figures alone give.
ClaimVerdict verdict_of(const std::vector<ClaimFigure>& figures);

}  // namespace perjoule
