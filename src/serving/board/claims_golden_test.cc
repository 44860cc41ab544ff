// The recomputed claims against the figures worked out of the same data elsewhere.
#include <gtest/gtest.h>

#include "base/test_data.h"
#include "serving/board/claims.h"
#include "workload/bench_files.h"

namespace perjoule {
namespace {

class ClaimsGolden : public ::testing::Test {
 protected:
  static const std::vector<BenchResult>& results(const std::string& folder) {
    static const std::vector<BenchResult> all = [&] {
      auto files = read_bench_files({folder + "/tasks", folder + "/v2"}, {});
      EXPECT_TRUE(files) << files.error().text();
      return std::move(files->results);
    }();
    return all;
  }
  static const Claim& claim(std::string_view name) {
    for (const Claim& one : published_claims()) {
      if (one.name == name) return one;
    }
    ADD_FAILURE() << name;
    return published_claims().front();
  }
  /// The figure whose words contain `part`.
  static double figure(const ClaimAnswer& answer, std::string_view part) {
    for (const ClaimFigure& one : answer.figures) {
      if (one.what.find(part) != std::string::npos) return one.here;
    }
    ADD_FAILURE() << part;
    return 0;
  }
};

#define PJ_CLAIM(answer, name)                            \
  PJ_TEST_DATA(index, "mlenergy_leaderboard/index.json"); \
  const ClaimAnswer answer = claim(name).recompute(results(index.substr(0, index.rfind('/'))))

TEST_F(ClaimsGolden, TdpOverestimate) {
  PJ_CLAIM(answer, "tdp-overestimate");
  EXPECT_EQ(answer.verdict, ClaimVerdict::kReproduced);
  EXPECT_NEAR(figure(answer, "energy-optimal"), 4.105, 5e-4);
  EXPECT_NEAR(figure(answer, "v2, all"), 4.178, 5e-4);
  EXPECT_NEAR(figure(answer, "v3, all"), 3.650, 5e-4);
  EXPECT_NE(answer.reason.find("codegemma-1.1-2b, max_num_seqs 768"), std::string::npos)
      << answer.reason;
}

TEST_F(ClaimsGolden, StableDiffusion) {
  PJ_CLAIM(answer, "stable-diffusion-2.1");
  EXPECT_EQ(answer.verdict, ClaimVerdict::kReproduced);
  EXPECT_NEAR(figure(answer, "latency"), 3.63439359664917, 1e-9);
  EXPECT_NEAR(figure(answer, "saved"), 21.069205560188875, 1e-9);
}

TEST_F(ClaimsGolden, Llama) {
  PJ_CLAIM(answer, "llama-3.1-8b");
  EXPECT_EQ(answer.verdict, ClaimVerdict::kClose);
  EXPECT_NEAR(figure(answer, "A100: time"), 79.26607795458347, 1e-9);
  EXPECT_NEAR(figure(answer, "A100: saved"), 41.93774858832302, 1e-9);
  EXPECT_NEAR(figure(answer, "H100: time"), 69.95, 5e-3);
  EXPECT_NEAR(figure(answer, "H100: saved"), 30.5, 5e-2);
  EXPECT_NEAR(figure(answer, "either GPU: time"), 69.95, 5e-3);
  EXPECT_NEAR(figure(answer, "either GPU: saved"), 44.1, 5e-2);
}

TEST_F(ClaimsGolden, Phi) {
  PJ_CLAIM(answer, "phi-3");
  EXPECT_EQ(answer.verdict, ClaimVerdict::kReproduced);
  EXPECT_NEAR(figure(answer, "A100-40GB: Phi-3 mini, max_num_seqs 128"), 54.59, 5e-3);
  EXPECT_NEAR(figure(answer, "A100-40GB: Phi-3 small, max_num_seqs 320"), 44.89, 5e-3);
  EXPECT_NEAR(figure(answer, "A100-40GB: change per response"), -17.8, 5e-2);
  EXPECT_NEAR(figure(answer, "A100-40GB: change per token"), -4.1, 5e-2);
  EXPECT_NEAR(figure(answer, "H100: change per response"), -17.65, 2e-2);
}

TEST_F(ClaimsGolden, H100At70Billion) {
  PJ_CLAIM(answer, "h100-70b");
  EXPECT_EQ(answer.verdict, ClaimVerdict::kNotInData);
  EXPECT_NEAR(figure(answer, "4 x H100, bfloat16, max_num_seqs 128"), 0.6036, 5e-5);
  EXPECT_NEAR(figure(answer, "4 x H100, bfloat16, max_num_seqs 768"), 0.4231, 5e-5);
  EXPECT_NEAR(figure(answer, "2 x B200, bfloat16, max_num_seqs 128"), 0.4811, 5e-5);
  EXPECT_NEAR(figure(answer, "2 x B200, bfloat16, max_num_seqs 1024"), 0.2186, 5e-5);
}

TEST_F(ClaimsGolden, TokensPerWatt) {
  PJ_CLAIM(answer, "tokens-per-watt");
  EXPECT_EQ(answer.verdict, ClaimVerdict::kInPart);
  EXPECT_NEAR(figure(answer, "highest"), 32.6, 5e-2);
  EXPECT_NEAR(figure(answer, "median of 89"), 6.37, 5e-3);
  EXPECT_NEAR(figure(answer, "median of 114"), 6.17, 5e-3);
}

TEST_F(ClaimsGolden, Reasoning) {
  PJ_CLAIM(answer, "reasoning");
  EXPECT_EQ(answer.verdict, ClaimVerdict::kReproduced);
  EXPECT_NEAR(figure(answer, "Qwen/Qwen3-30B-A3B-Thinking-2507"), 13.6, 5e-2);
  EXPECT_NEAR(figure(answer, "Qwen/Qwen3-8B"), 40.6, 5e-2);
  EXPECT_NEAR(figure(answer, "highest"), 40.6, 5e-2);
  EXPECT_NEAR(figure(answer, "lowest"), 3.29, 5e-3);
}

TEST_F(ClaimsGolden, NearTdp) {
  PJ_CLAIM(answer, "near-tdp");
  EXPECT_EQ(answer.verdict, ClaimVerdict::kInPart);
  EXPECT_NEAR(figure(answer, "H100, diffusion"), 92.3, 5e-2);
  EXPECT_NEAR(figure(answer, "A100-40GB, diffusion"), 94.9, 5e-2);
  EXPECT_NEAR(figure(answer, "H100, language"), 39.2, 5e-2);
  EXPECT_NEAR(figure(answer, "A100-40GB, language"), 44.4, 5e-2);
  EXPECT_NEAR(figure(answer, "v3, chat"), 87.5, 5e-1);
  EXPECT_NEAR(figure(answer, "ML.ENERGY v2: Llama"), 245.7, 5e-2);
  EXPECT_NEAR(figure(answer, "ML.ENERGY v3: Llama"), 688.3, 5e-2);
}

TEST_F(ClaimsGolden, NewerGpu) {
  PJ_CLAIM(answer, "newer-gpu");
  EXPECT_EQ(answer.verdict, ClaimVerdict::kInPart);
  const auto gain = [&](const std::string& from, double wanted) {
    EXPECT_NEAR(figure(answer, from), wanted, 6e-3) << from;
  };
  gain("A100-40GB to H100, chat", 1.11);
  gain("A100-40GB to H100, code", 1.17);
  gain("A100-40GB to H100, text-to-image", 1.29);
  gain("A100-40GB to H100, text-to-video", 1.22);
  gain("A100-40GB to H100, image-to-video", 1.15);
  gain("H100 to B200, lm-arena-chat", 1.63);
  gain("H100 to B200, gpqa", 1.637);
  gain("H100 to B200, image-chat", 1.433);
  gain("H100 to B200, text-to-image", 1.14);
  gain("H100 to B200, text-to-video", 1.05);
}

TEST_F(ClaimsGolden, EightBits) {
  PJ_CLAIM(answer, "fp8");
  EXPECT_EQ(answer.verdict, ClaimVerdict::kInPart);
  const auto change = [&](std::string_view part, double before, double after) {
    EXPECT_NEAR(figure(answer, part), 100 * (after / before - 1), 0.1) << part;
  };
  change("Qwen3-235B-A22B-Instruct-2507, lm-arena-chat, H100", 1.0927, 0.7415);
  change("Qwen3-235B-A22B-Instruct-2507, lm-arena-chat, B200", 0.24025, 0.50069);
  change("Llama-3.1-405B-Instruct, lm-arena-chat, B200", 1.0150, 1.1467);
  change("Qwen3-Coder-480B-A35B-Instruct, sourcegraph-fim, B200", 1.23998, 3.79525);
}

TEST(Claims, WithoutTheResultsTheySpeakOfTheySaySo) {
  for (const Claim& claim : published_claims()) {
    const ClaimAnswer answer = claim.recompute({});
    EXPECT_EQ(answer.verdict, ClaimVerdict::kNotInData) << claim.name;
    EXPECT_TRUE(answer.figures.empty());
  }
}

TEST(Claims, AVerdictGoesByThePublishedDigits) {
  EXPECT_EQ(verdict_of({{"", 4.1, 4.149, "x", 0.05}}), ClaimVerdict::kReproduced);
  EXPECT_EQ(verdict_of({{"", 4.1, 4.149, "x", 0.05}, {"", 4.1, 4.2, "x", 0.05}}),
            ClaimVerdict::kClose);
  EXPECT_EQ(verdict_of({{"", 4.1, 5, "x", 0.05}}), ClaimVerdict::kDiffers);
  EXPECT_EQ(verdict_of({{"", {}, 5, "x"}}), ClaimVerdict::kNotInData);
}

}  // namespace
}  // namespace perjoule
