#include "serving/board/claims.h"

#include <array>
#include <cmath>

#include "serving/board/claims_of_papers.h"
#include "serving/board/claims_of_trends.h"

namespace perjoule {

std::string_view name_of(ClaimVerdict verdict) {
  constexpr std::array<std::string_view, 5> kNames{"reproduced", "close", "in part", "differs",
                                                   "not in these data"};
  return kNames[static_cast<std::size_t>(verdict)];
}

ClaimVerdict verdict_of(const std::vector<ClaimFigure>& figures) {
  ClaimVerdict verdict = ClaimVerdict::kNotInData;
  for (const ClaimFigure& figure : figures) {
    if (!figure.published) continue;
    constexpr double kClose = 0.05;
    const double apart = std::abs(figure.here - *figure.published);
    const ClaimVerdict own = apart <= figure.within ? ClaimVerdict::kReproduced
                             : apart <= kClose * std::abs(*figure.published)
                                 ? ClaimVerdict::kClose
                                 : ClaimVerdict::kDiffers;
    verdict = verdict == ClaimVerdict::kNotInData ? own : std::max(verdict, own);
  }
  return verdict;
}

const std::vector<Claim>& published_claims() {
  static const std::vector<Claim> kClaims{
      {"tdp-overestimate", "An estimate from thermal design power is too high by up to 4.1 x",
       recompute_tdp_overestimate},
      {"stable-diffusion-2.1",
       "Stable Diffusion 2.1 within 5 s on an H100: 3.63 s a batch, 21 % less energy",
       recompute_stable_diffusion},
      {"llama-3.1-8b", "Llama 3.1 8B within 100 ms per output token: 77 ms, 44 % less energy",
       recompute_llama},
      {"phi-3", "Phi-3 small (7B, grouped queries) takes less than Phi-3 mini (3.8B, all heads)",
       recompute_phi},
      {"h100-70b", "70B in FP8 on H100 at batch 128 takes 0.39 J per output token",
       recompute_h100_70b},
      {"tokens-per-watt",
       "Tokens per watt of the latency- and the throughput-optimal configuration lie about 20 x "
       "apart",
       recompute_tokens_per_watt},
      {"reasoning", "A reasoning answer takes far more energy than a chat answer",
       recompute_reasoning},
      {"near-tdp", "Diffusion models run near thermal design power, language models well below",
       recompute_near_tdp},
      {"newer-gpu", "A newer GPU saves energy", recompute_newer_gpu},
      {"fp8", "Weights in FP8 save energy", recompute_fp8},
  };
  return kClaims;
}

const std::vector<ClaimElsewhere>& claims_elsewhere() {
  static const std::vector<ClaimElsewhere> kElsewhere{
      {"DynamoLLM saves 53 % of the energy with 38.5 % fewer servers", "a simulated cluster"},
      {"Frequency scaling alone saves 26 to 41 % within the latency objectives",
       "profiles at locked clocks"},
      {"Azure's load varies by 34.6 (code) and 3.3 (chat) between peak and valley",
       "a week of its traces"},
      {"38 % less carbon and 61 % less cost", "a carbon and a price series"},
  };
  return kElsewhere;
}

}  // namespace perjoule
