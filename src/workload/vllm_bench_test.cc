#include "workload/vllm_bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "workload/bench_files.h"
#include "workload/python_json.h"

namespace perjoule {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// 2025-10-07 13:16:35 UTC.
constexpr std::int64_t kDate = 1'759'842'995 * kSecond;

std::string result(const std::string& more = "", const std::string& completed = "4") {
  return R"({"date": "20251007-131635", "endpoint_type": "vllm", "backend": "vllm", "label": null,
    "model_id": "org/a", "tokenizer_id": "org/a", "num_prompts": 4, "request_rate": "inf",
    "burstiness": 1.0, "max_concurrency": null, "duration": 20.5, "completed": )" +
         completed + R"(, "total_input_tokens": 4096, "total_output_tokens": 1024,
    "request_throughput": 0.195, "request_goodput": null, "output_throughput": 49.95,
    "total_token_throughput": 249.7, "mean_ttft_ms": 120.0, "median_ttft_ms": 110.0,
    "p99_ttft_ms": 300.0, "mean_tpot_ms": 20.0, "mean_itl_ms": 19.0, "median_itl_ms": 18.0)" +
         more + "}";
}

Result<BenchFiles> read(const std::string& text) {
  return parse_bench_text(text, "v.json", Seconds(0));
}

TEST(VllmBench, AResultWithoutItsRequests) {
  const auto files = read(result());
  ASSERT_TRUE(files) << files.error().text();
  const BenchResult& r = files->results[0];
  EXPECT_EQ(r.benchmark, kVllmBench);
  EXPECT_EQ(r.model.id, "org/a");
  EXPECT_EQ(r.engine.name, "vllm");
  EXPECT_TRUE(std::isinf(*r.load.asked_per_s));
  EXPECT_EQ(r.load.completed, 4);
  EXPECT_FALSE(r.load.concurrency);
  EXPECT_EQ(r.totals.output_tokens, 1024);
  EXPECT_EQ(r.totals.input_tokens, 4096);
  EXPECT_EQ(r.totals.responses, 4);
  EXPECT_DOUBLE_EQ(*r.lengths.mean_output, 256);
  EXPECT_DOUBLE_EQ(r.latency.ttft.p99->value(), 0.3);
  EXPECT_FALSE(r.latency.ttft.p90);
  EXPECT_FALSE(r.latency.e2el.mean);
  EXPECT_FALSE(r.energy.output_token);
  EXPECT_FALSE(r.power);
  EXPECT_TRUE(r.validity.empty());
}

TEST(VllmBench, TheWindowEndsAboutWhenTheResultWasWritten) {
  const auto files = read(result());
  ASSERT_TRUE(files);
  const auto& window = files->results[0].window;
  ASSERT_TRUE(window);
  EXPECT_EQ(window->end_unix_ns, kDate - kSecond);
  EXPECT_EQ(window->duration(), Seconds(20.5));
  EXPECT_EQ(window->known_within, Seconds(2));
  // Two hours ahead of UTC it was two hours earlier.
  const auto ahead = parse_bench_text(result(), "v.json", Seconds(7200));
  ASSERT_TRUE(ahead);
  EXPECT_EQ(ahead->results[0].window->end_unix_ns, kDate - kSecond - 7200 * kSecond);
}

TEST(VllmBench, UnixTimeIsBelievedWhereAForkWritesIt) {
  const auto files = read(result(R"(, "benchmark_start_time_unix": 1759842000.25,
                                     "benchmark_end_time_unix": 1759842020.75)"));
  ASSERT_TRUE(files) << files.error().text();
  EXPECT_EQ(files->results[0].window->begin_unix_ns, 1'759'842'000 * kSecond + kSecond / 4);
  EXPECT_EQ(files->results[0].window->known_within, Seconds(1e-3));
}

TEST(VllmBench, DetailsFillPercentilesAndLengths) {
  const auto files = read(result(
      R"(, "itls": [[0.01, 0.02], [0.03], [], [9.0]], "output_lens": [3, 2, 1, 0],
         "ttfts": [0.1, 0.1, 0.1, 0.0], "errors": ["", "", "", "connection reset"], "failed": 1)",
      "3"));
  ASSERT_TRUE(files) << files.error().text();
  const BenchResult& r = files->results[0];
  // Gaps 10, 20 and 30 ms; the failed request's is none, and what the file states stays.
  EXPECT_DOUBLE_EQ(r.latency.itl.p50->value(), 0.018);
  EXPECT_NEAR(r.latency.itl.p90->value(), 0.028, 1e-12);
  ASSERT_TRUE(r.lengths.outputs);
  double count = 0;
  for (const double of_bin : r.lengths.outputs->counts) count += of_bin;
  EXPECT_EQ(count, 3);
  ASSERT_EQ(r.validity.size(), 1U);
  EXPECT_EQ(r.validity[0], "1 of 4 requests failed");
}

TEST(VllmBench, OfNothingCompletedThereAreNoZeroes) {
  std::string text = result(R"(, "itls": [], "output_lens": [], "errors": [])", "0");
  for (const char* metric : {"120.0", "110.0", "300.0", "20.0, \"mean_itl", "19.0", "18.0"}) {
    const std::size_t at = text.find(metric);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, std::string(metric).find('.'), "0");
  }
  const auto files = read(text);
  ASSERT_TRUE(files) << files.error().text();
  const BenchResult& r = files->results[0];
  EXPECT_FALSE(r.latency.ttft.mean);
  EXPECT_FALSE(r.latency.itl.p50);
  EXPECT_FALSE(r.totals.output_tokens);
  EXPECT_FALSE(r.lengths.mean_output);
  ASSERT_EQ(r.validity.size(), 1U);
  EXPECT_EQ(r.validity[0], "no request was completed");
}

TEST(VllmBench, WhatPythonWritesForNoNumberIsNone) {
  const auto files = read(result(
      R"(, "mean_e2el_ms": NaN, "p99_e2el_ms": -Infinity, "itls": [[0.01, NaN]], "label": "NaN"
         , "generated_texts": ["\"Infinity\\", "NaN"])"));
  ASSERT_TRUE(files) << files.error().text();
  EXPECT_FALSE(files->results[0].latency.e2el.mean);
  EXPECT_FALSE(files->results[0].latency.e2el.p99);
  EXPECT_DOUBLE_EQ(files->results[0].latency.itl.p99->value(), 0.01);
}

TEST(VllmBench, OnlyWordsOutsideOfStringsAreReplaced) {
  EXPECT_EQ(without_non_finite(R"([NaN,-Infinity,Infinity,"NaN","\"NaN",1])"),
            R"([null,null,null,"NaN","\"NaN",1])");
  EXPECT_EQ(without_non_finite("\"open NaN"), "\"open NaN");
  EXPECT_EQ(without_non_finite("\\"), "\\");
}

TEST(VllmBench, AResultALineAsAppendResultWrites) {
  std::string one = result();
  one.erase(std::remove(one.begin(), one.end(), '\n'), one.end());
  std::string other = one;
  other.replace(other.find("131635"), 6, "141635");
  const auto files = read(one + "\n" + other + "\n");
  ASSERT_TRUE(files) << files.error().text();
  ASSERT_EQ(files->results.size(), 2U);
  EXPECT_EQ(files->results[1].origin.row, 2U);
  EXPECT_EQ(files->results[1].window->end_unix_ns - files->results[0].window->end_unix_ns,
            3600 * kSecond);
  EXPECT_TRUE(files->results[1].validity.empty()) << files->results[1].validity[0];
}

TEST(VllmBench, MalformedMembersAreNamed) {
  const auto refused = [](const std::string& text, const std::string& member) {
    const auto files = read(text);
    ASSERT_FALSE(files) << member;
    EXPECT_EQ(files.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(files.error().message.find("v.json"), std::string::npos);
    EXPECT_NE(files.error().message.find(member), std::string::npos) << files.error().message;
  };
  std::string dated = result();
  dated.replace(dated.find("20251007"), 8, "20251399");
  refused(dated, "date");
  refused(result(R"(, "mean_e2el_ms": "much")"), "mean_e2el_ms");
  refused(result(R"(, "itls": [3])"), "itls");
  refused(result(R"(, "itls": [["a"]])"), "itls");
  refused(result("", "\"many\""), "completed");
  refused(result(R"(, "duration": 1e300)"), "duration");
}

}  // namespace
}  // namespace perjoule
