#include "workload/mlenergy_raw.h"

#include <gtest/gtest.h>

#include <cmath>

#include "workload/bench_files.h"

namespace perjoule {
namespace {

std::string raw(const std::string& requests, const std::string& more = "") {
  return R"({"model_id": "org/a", "gpu_model": "H100", "num_gpus": 2, "max_num_seqs": 8,
    "request_rate": "inf", "burstiness": 1.0, "max_output_tokens": 100, "num_prompts": 3,
    "completed": 3, "steady_state_duration": 50, "steady_state_energy": 30000,
    "steady_state_energy_per_token": 0.5, "total_input_tokens": 600, "total_output_tokens": 240,
    "steady_state_measurement": {"gpu_energy": {"0": 10000, "1": 20000}},
    "mean_ttft_ms": 120, "p99_e2el_ms": 9000)" +
         more + R"(, "results": [)" + requests + "]}";
}

TEST(MlEnergyRaw, RowsAreMadeAsTheLeaderboardMakesThem) {
  const auto files =
      parse_bench_text(raw(R"({"success": true, "output_len": 100, "itl": [0, 0.02, 0.04, 0]},
             {"success": true, "output_len": 80, "itl": [0, 0.03]},
             {"success": false, "output_len": 7, "itl": [9]})"),
                       "run/llm/gpqa/results/org/a/H100/b8/results.json");
  ASSERT_TRUE(files) << files.error().text();
  const BenchResult& r = files->results[0];
  EXPECT_EQ(r.task, "gpqa");
  EXPECT_DOUBLE_EQ(r.power->value(), 600);
  EXPECT_DOUBLE_EQ(*r.rates.output_tokens, 1200);
  EXPECT_DOUBLE_EQ(r.energy.response->joules.value(), 40);
  EXPECT_DOUBLE_EQ(*r.lengths.mean_input, 200);
  EXPECT_TRUE(std::isinf(*r.load.asked_per_s));
  EXPECT_DOUBLE_EQ(r.latency.ttft.mean->value(), 0.12);
  // Gaps 20, 20, 20 and 30 ms after the repair; the failed request's is none of them.
  EXPECT_DOUBLE_EQ(r.latency.itl.p50->value(), 0.02);
  EXPECT_DOUBLE_EQ(r.latency.itl.mean->value(), 0.0225);
  EXPECT_DOUBLE_EQ(*r.evidence.length_limit_share, 0.5);
  EXPECT_EQ(r.lengths.outputs->counts.front() + r.lengths.outputs->counts.back(), 2);
  EXPECT_TRUE(r.validity.empty());
}

TEST(MlEnergyRaw, GapsAreRepaired) {
  EXPECT_EQ(repaired_gaps({0, 0, 0.04, 0, 0, 0, 0.02}),
            (std::vector<double>{0.01, 0.01, 0.01, 0.01, 0.02}));
  EXPECT_TRUE(repaired_gaps({0, 0}).empty());
  EXPECT_TRUE(repaired_gaps({}).empty());
}

TEST(MlEnergyRaw, TheTimelineWithinTheWindowIsEvidence) {
  const auto files =
      parse_bench_text(raw("", R"(, "timeline": {"steady_state_start": 10, "steady_state_end": 11,
                 "power": {"device_instant": {"0": [[9, 5], [10, 300], [11, 500]], "1": [[10.5, 200]]}},
                 "temperature": {"0": [[10, 60], [10.5, 99]]}})"),
                       "r.json");
  ASSERT_TRUE(files) << files.error().text();
  const BenchEvidence& evidence = files->results[0].evidence;
  EXPECT_EQ(files->results[0].task, "not stated");
  EXPECT_EQ(evidence.instant_low, Watts(200));
  EXPECT_EQ(evidence.instant_high, Watts(500));
  EXPECT_DOUBLE_EQ(*evidence.temperature_outside_share, 0.5);
  EXPECT_NEAR(*evidence.sampling_share, 3 / 20.0, 1e-12);
  EXPECT_FALSE(evidence.average_low);
  EXPECT_FALSE(files->results[0].window);  // 10 s is no time of day
}

TEST(MlEnergyRaw, ATimelineInUnixTimeIsAWindow) {
  const auto files = parse_bench_text(
      raw("",
          R"(, "timeline": {"steady_state_start": 1759842985.5, "steady_state_end": 1759843035.5})"),
      "r.json");
  ASSERT_TRUE(files) << files.error().text();
  const BenchResult& r = files->results[0];
  ASSERT_TRUE(r.window);
  EXPECT_EQ(r.window->begin_unix_ns, 1'759'842'985'500'000'000);
  EXPECT_EQ(r.window->duration(), Seconds(50));
  EXPECT_EQ(r.totals.output_tokens, 60000);
  EXPECT_FALSE(r.totals.responses);  // of the whole run, not of steady state
}

TEST(MlEnergyRaw, WhatDoesNotAddUpIsSaid) {
  std::string text = raw("");
  text.replace(text.find("20000"), 5, "20001");
  text.replace(text.find("\"completed\": 3"), 14, "\"completed\": 2");
  const auto files = parse_bench_text(text, "r.json");
  ASSERT_TRUE(files);
  ASSERT_EQ(files->results[0].validity.size(), 2U);
  EXPECT_NE(files->results[0].validity[0].find("30001"), std::string::npos);
  EXPECT_NE(files->results[0].validity[1].find("1 of 3"), std::string::npos);
}

TEST(MlEnergyRaw, WrongKindsAreNamed) {
  for (const char* requests : {"3", R"({"itl": 3})", R"({"itl": ["a"]})"}) {
    const auto files = parse_bench_text(raw(requests), "r.json");
    ASSERT_FALSE(files) << requests;
    EXPECT_NE(files.error().message.find("r.json: results, row 1"), std::string::npos)
        << files.error().message;
  }
}

}  // namespace
}  // namespace perjoule
