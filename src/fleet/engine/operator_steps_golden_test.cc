// The engine against a real one: vLLM 0.19.0 serving Llama-3.1-8B on an RTX PRO 6000, 300 requests,
// recorded by LLMServingSim's authors.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/file.h"
#include "base/test_data.h"
#include "fleet/engine/recorded_run.h"

namespace perjoule {
namespace {

TEST(OperatorStepsGoldenTest, AMeasuredRunOfVllm) {
  PJ_TEST_DATA(path, "serving/llmservingsim/RTXPRO6000_Llama-3.1-8B_vllm_requests.jsonl");
  const std::string stem = path.substr(0, path.rfind("vllm_requests"));
  const auto run = read_recorded_run(read_file(path).value(), path);
  ASSERT_TRUE(run) << run.error().text();
  ASSERT_EQ(run->size(), 300U);
  const std::string dense = read_file(stem + "tp1_dense.csv").value();
  const std::string attention = read_file(stem + "tp1_attention.csv").value();
  const std::string heads = read_file(stem + "tp1_per_sequence.csv").value();
  const auto near = agreement_with(*run, {dense, attention, heads},
                                   {.most_running = 128, .step_tokens = 2048}, 100);
  ASSERT_TRUE(near) << near.error().text();
  RecordProperty("overhead_us", static_cast<int>(near->overhead.value() * 1e6));
  std::printf("overhead %.2f ms; of the other %zu: mean TTFT %+.2f %%, TPOT %+.2f %%\n",
              near->overhead.value() * 1e3, near->judged, 100 * near->first_token,
              100 * near->per_token);
  EXPECT_EQ(near->judged, 200U);
  EXPECT_LT(std::abs(near->first_token), 0.05);
  EXPECT_LT(std::abs(near->per_token), 0.02);
}

}  // namespace
}  // namespace perjoule
