// How many tokens requests have that are made, not taken from a data set, drawn from laws (or as a
// recorded trace says, workload/azure_trace.h).
//
//   PJ_TRY(const auto drawn, drawn_lengths({LengthKind::kPareto, 500, 2.5},
//                                          {LengthKind::kExponential, 300}, 1024, seed));
//   const std::vector<Prompt> prompts = prompts_of_lengths(drawn, PromptForm::kTokenIds, seed);
//
// A made prompt has the wanted length in token ids, which the completions endpoint takes, exactly.
// For a chat it is as many common words, each of which most tokenisers take for one token; the
// server's usage says how many they were. No two prompts begin alike, so that no prefix cache has
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "serving/load/prompts.h"
#include "workload/azure_trace.h"

namespace perjoule {

enum class LengthKind {
  kFixed,
  kUniform,  ///< from `mean` - `spread` to `mean` + `spread`
  kExponential,
  kPareto,     ///< of shape `spread`, above 1: from mean (shape - 1) / shape on
  kLogNormal,  ///< `spread` is the standard deviation of the logarithm
};

struct LengthLaw {
  LengthKind kind = LengthKind::kFixed;
  double mean = 1;  ///< before the bounds
  double spread = 0;
  std::int64_t least = 1;
  std::int64_t most = 32768;
};

/// Rounded to whole tokens and brought within the bounds. invalid_argument for a law that is none.
/// O(count).
Result<std::vector<TokenLengths>> drawn_lengths(const LengthLaw& prompt, const LengthLaw& output,
                                                std::size_t count, std::uint64_t seed);

/// Which ids made prompts consist of: none that means something to a chat's template. Those of
/// vocabularies begin with single bytes and end with special tokens.
struct TokenIds {
  std::uint32_t first = 1000;
  std::uint32_t count = 20'000;
};

enum class PromptForm { kTokenIds, kWords };

/// Prompts of these lengths. Some 6 bytes a token: 130 MB for the larger of Azure's traces of 2023.
std::vector<Prompt> prompts_of_lengths(const std::vector<TokenLengths>& lengths, PromptForm form,
                                       std::uint64_t seed, TokenIds ids = {});

}  // namespace perjoule
