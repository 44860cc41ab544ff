#include "workload/mlperf_loadgen.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "workload/bench_files.h"

namespace perjoule {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr const char* kPath = "results/sys/llama2-70b-99/Server/performance/run_1/s.txt";

std::string head(const std::string& scenario) {
  return "================================================\nMLPerf Results Summary\n"
         "================================================\nSUT name : PySUT\nScenario : " +
         scenario + "\nMode     : PerformanceOnly\n";
}

std::string server(const std::string& verdict = "VALID") {
  return head("Server") +
         "Completed samples per second    : 9.00\nCompleted tokens per second: 900.00\n"
         "Result is : " +
         verdict +
         "\n  Min duration satisfied : Yes\nRecommendations:\n * Reduce target QPS.\n\n"
         "================================================\nAdditional Stats\n"
         "================================================\nScheduled samples per second : 9.50\n"
         "Min latency (ns)                : 84\nMax latency (ns)                : 197709954\n"
         "Mean latency (ns)               : 4000000000\n"
         "50.00 percentile latency (ns)   : 3500000000\n"
         "99.90 percentile latency (ns)   : 9000000000\n\n"
         "Completed tokens per second                 : 900.00\n"
         "Mean First Token latency (ns)               : 200000000\n"
         "99.00 percentile first token latency (ns)   : 600000000\n"
         "Mean Time to Output Token (ns)               : 60000000\n"
         "50.00 percentile time to output token (ns)   : 58000000\n\n"
         "target_qps : 9.5\ntarget_latency (ns): 0\nNo warnings encountered during test.\n";
}

std::string detail(const std::string& queries = "91") {
  return ":::MLLOG {\"key\": \"loadgen_version\", \"value\": \"5.0.25 @ 1\", \"time_ms\": 0.1}\n"
         ":::MLLOG {\"key\": \"power_begin\", \"value\": \"12-23-2020 10:21:51.496\", \"time_ms\": "
         "1580.3, \"metadata\": {\"pid\": 9473}}\n"
         ":::MLLOG {\"key\": \"power_end\", \"value\": \"12-23-2020 10:22:01.996\", \"time_ms\": "
         "9}\n"
         ":::MLLOG {\"key\": \"result_query_count\", \"value\": " +
         queries + ", \"time_ms\": 9}\n";
}

TEST(MlPerfLoadgen, ASummaryOfTheServerScenario) {
  const auto files = parse_bench_text(server(), kPath);
  ASSERT_TRUE(files) << files.error().text();
  const BenchResult& r = files->results[0];
  EXPECT_EQ(r.benchmark, kMlPerf);
  EXPECT_EQ(r.task, "Server");
  EXPECT_EQ(r.model.id, "llama2-70b-99");
  EXPECT_EQ(r.load.asked_per_s, 9.5);
  EXPECT_EQ(r.load.delivered_per_s, 9);
  EXPECT_EQ(r.rates.output_tokens, 900);
  EXPECT_DOUBLE_EQ(r.latency.e2el.mean->value(), 4);
  EXPECT_DOUBLE_EQ(r.latency.e2el.p50->value(), 3.5);
  EXPECT_FALSE(r.latency.e2el.p90);
  EXPECT_DOUBLE_EQ(r.latency.ttft.p99->value(), 0.6);
  EXPECT_DOUBLE_EQ(r.latency.tpot.mean->value(), 0.06);
  EXPECT_FALSE(r.window);
  EXPECT_FALSE(r.totals.output_tokens);
  EXPECT_TRUE(r.validity.empty());
}

TEST(MlPerfLoadgen, TheDetailedLogSaysWhenAndHowMany) {
  auto files = parse_bench_text(server(), kPath);
  ASSERT_TRUE(files);
  BenchResult& r = files->results[0];
  ASSERT_TRUE(add_mlperf_detail(detail(), "d.txt", r));
  ASSERT_TRUE(r.window);
  EXPECT_EQ(r.window->begin_unix_ns, 1'608'718'911 * kSecond + 496'000'000);
  EXPECT_EQ(r.window->duration(), Seconds(10.5));
  // 90 gaps at 9 a second are 10 s, in which 900 tokens a second make 9,000.
  EXPECT_EQ(r.totals.responses, 91);
  EXPECT_DOUBLE_EQ(*r.totals.output_tokens, 9000);
  EXPECT_EQ(r.totals.duration, Seconds(10));
}

TEST(MlPerfLoadgen, OfflineIsAsLongAsItsLongestLatency) {
  const auto files = parse_bench_text(
      head("Offline") +
          "Samples per second: 25.5\nTokens per second: 7000\nResult is : VALID\n"
          "Min latency (ns)                : 1\nMax latency (ns)                : 40000000000\n"
          "Mean latency (ns)               : 20000000000\n"
          "Mean Time per Output Token (ns) : 0\n",
      "mlperf_log_summary.txt");
  ASSERT_TRUE(files) << files.error().text();
  const BenchResult& r = files->results[0];
  EXPECT_EQ(r.model.id, "not stated");
  EXPECT_EQ(r.totals.responses, 1020);
  EXPECT_DOUBLE_EQ(*r.totals.output_tokens, 280000);
  EXPECT_FALSE(r.latency.tpot.mean);
}

TEST(MlPerfLoadgen, WhatIsNotValidIsSaid) {
  const auto files = parse_bench_text(server("INVALID"), kPath);
  ASSERT_TRUE(files);
  ASSERT_EQ(files->results[0].validity.size(), 1U);
  EXPECT_NE(files->results[0].validity[0].find("INVALID"), std::string::npos);
  std::string accuracy = server();
  accuracy.replace(accuracy.find("PerformanceOnly"), 15, "AccuracyOnly");
  const auto other = parse_bench_text(accuracy, kPath);
  ASSERT_TRUE(other);
  EXPECT_NE(other->results[0].validity[0].find("AccuracyOnly"), std::string::npos);
}

TEST(MlPerfLoadgen, TheLogIsFoundBesideTheSummary) {
  const std::string folder = ::testing::TempDir() + "/pj_mlperf-" + std::to_string(getpid());
  ASSERT_TRUE(make_folders(folder));
  ASSERT_TRUE(write_file_atomically(folder + "/mlperf_log_summary.txt", server()));
  ASSERT_TRUE(write_file_atomically(folder + "/mlperf_log_detail.txt", detail()));
  const auto files = read_bench_files({folder}, {});
  ASSERT_TRUE(files) << files.error().text();
  ASSERT_EQ(files->results.size(), 1U);
  EXPECT_TRUE(files->results[0].window);
  ASSERT_TRUE(write_file_atomically(folder + "/mlperf_log_detail.txt",
                                    "x power_begin 12-23-2020 10:21:51.496\n"));
  const auto half = read_bench_files({folder}, {});
  ASSERT_FALSE(half);
  EXPECT_NE(half.error().message.find("mlperf_log_detail.txt"), std::string::npos);
}

TEST(MlPerfLoadgen, OddTexts) {
  auto files = parse_bench_text(server(), kPath);
  ASSERT_TRUE(files);
  BenchResult& r = files->results[0];
  EXPECT_TRUE(add_mlperf_detail("", "d.txt", r));
  EXPECT_FALSE(r.window);
  EXPECT_FALSE(add_mlperf_detail("power_begin 99-99-2020 10:21:51.496\npower_end\n", "d.txt", r));
  EXPECT_TRUE(add_mlperf_detail(detail("\"many\""), "d.txt", r));
  EXPECT_FALSE(r.totals.responses);
  std::string wordy = server();
  wordy.replace(wordy.find("9.00"), 4, "fast");
  const auto refused = parse_bench_text(wordy, "s.txt");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("Completed samples per second"), std::string::npos);
  EXPECT_FALSE(parse_bench_text(head("").substr(0, 130), "s.txt"));
}

}  // namespace
}  // namespace perjoule
