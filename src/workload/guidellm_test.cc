#include "workload/guidellm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "workload/bench_files.h"

namespace perjoule {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::string distribution(const std::string& successful) {
  return R"({"successful": {)" + successful + R"(}, "incomplete": {"mean": 1e9, "total_sum": 1e9},
    "errored": {"mean": 0.0, "total_sum": 0.0}})";
}

std::string metrics(const std::string& more = "") {
  return R"({"requests_per_second": )" + distribution(R"("mean": 2.0)") +
         R"(, "request_latency": )" + distribution(R"("mean": 1.5, "median": 1.4)") +
         R"(, "output_token_count": )" + distribution(R"("mean": 128.0, "total_sum": 2560.0)") +
         R"(, "prompt_token_count": )" + distribution(R"("mean": 256.0, "total_sum": 5120.0)") +
         R"(, "time_to_first_token_ms": )" +
         distribution(
             R"("mean": 40.0, "median": 38.0, "percentiles": {"p90": 60.0, "p99": 90.0})") +
         R"(, "inter_token_latency_ms": )" + distribution(R"("mean": 11.0, "median": 10.0)") +
         more + "}";
}

std::string current(const std::string& strategy, double begin) {
  return R"({"type_": "generative_benchmark", "config": {"strategy": )" + strategy +
         R"(, "backend": {"model": "org/a"}}, "scheduler_metrics": {"start_time": 5,
            "measure_start_time": )" +
         std::to_string(begin) + R"(, "measure_end_time": )" + std::to_string(begin + 10) +
         R"(}, "metrics": )" +
         metrics(R"(, "request_totals": {"successful": 20, "incomplete": 4, "errored": 0,
                    "total": 24})") +
         "}";
}

TEST(GuideLlm, ABenchmarkARate) {
  const auto files = parse_bench_text(
      R"({"metadata": {"version": 1, "guidellm_version": "0.5.0"}, "benchmarks": [)" +
          current(R"({"type_": "concurrent", "streams": 4})", 1'759'842'985.5) + ", " +
          current(R"({"kind": "poisson", "rate": 2.5})", 1'759'843'985.5) + ", " +
          current(R"({"type_": "throughput", "max_concurrency": 512})", 1'759'844'985.5) + "]}",
      "g.json");
  ASSERT_TRUE(files) << files.error().text();
  ASSERT_EQ(files->results.size(), 3U);
  const BenchResult& r = files->results[0];
  EXPECT_EQ(r.benchmark, kGuideLlm);
  EXPECT_EQ(r.model.id, "org/a");
  EXPECT_EQ(r.origin.row, 1U);
  EXPECT_EQ(r.load.concurrency, 4);
  EXPECT_EQ(r.load.completed, 20);
  EXPECT_EQ(r.totals.output_tokens, 2560);
  EXPECT_EQ(r.totals.input_tokens, 5120);
  EXPECT_DOUBLE_EQ(*r.lengths.mean_output, 128);
  EXPECT_DOUBLE_EQ(*r.rates.output_tokens, 256);  // over the window's 10 s
  EXPECT_DOUBLE_EQ(*r.load.delivered_per_s, 2);
  EXPECT_DOUBLE_EQ(r.latency.e2el.p50->value(), 1.4);
  EXPECT_DOUBLE_EQ(r.latency.ttft.p99->value(), 0.09);
  EXPECT_DOUBLE_EQ(r.latency.tpot.p50->value(), 0.01);
  EXPECT_FALSE(r.latency.itl.mean);
  ASSERT_TRUE(r.window);
  EXPECT_EQ(r.window->begin_unix_ns, 1'759'842'985 * kSecond + kSecond / 2);
  EXPECT_EQ(r.window->duration(), Seconds(10));
  // Cut off at the end is no failure.
  EXPECT_TRUE(r.validity.empty());
  EXPECT_EQ(files->results[1].load.asked_per_s, 2.5);
  EXPECT_EQ(files->results[1].load.burstiness, 1);
  EXPECT_TRUE(std::isinf(*files->results[2].load.asked_per_s));
  EXPECT_EQ(files->results[2].load.concurrency, 512);
}

TEST(GuideLlm, OlderFilesHaveTheirMembersElsewhere) {
  const auto files = parse_bench_text(
      R"({"benchmarks": [{"args": {"strategy": {"type_": "synchronous"}}, "run_stats": {},
          "worker": {"backend_model": "org/b"}, "request_totals": {"successful": 20,
          "incomplete": 0, "errored": 5, "total": 25}, "start_time": 1759842985.0,
          "end_time": 1759842995.0, "metrics": )" +
          metrics() + "}]}",
      "g.json");
  ASSERT_TRUE(files) << files.error().text();
  const BenchResult& r = files->results[0];
  EXPECT_EQ(r.model.id, "org/b");
  EXPECT_EQ(r.load.concurrency, 1);
  EXPECT_EQ(r.window->begin_unix_ns, 1'759'842'985 * kSecond);
  ASSERT_EQ(r.validity.size(), 1U);
  EXPECT_EQ(r.validity[0], "5 of 25 requests failed");
}

TEST(GuideLlm, OfNothingCompletedThereAreNoTotals) {
  std::string text =
      R"({"benchmarks": [)" + current(R"({"type_": "concurrent", "streams": 4})", -1) + "]}";
  text.replace(text.find("\"successful\": 20"), 16, "\"successful\": 0");
  const auto files = parse_bench_text(text, "g.json");
  ASSERT_TRUE(files) << files.error().text();
  EXPECT_FALSE(files->results[0].totals.responses);
  EXPECT_FALSE(files->results[0].window);  // -1 stands for a time that was not reached
  EXPECT_EQ(files->results[0].validity[0], "no request was completed");
}

TEST(GuideLlm, MalformedMembersAreNamedWithTheirRow) {
  const auto refused = [](const std::string& benchmarks,
                          std::initializer_list<std::string> wanted) {
    const auto files = parse_bench_text(
        R"({"metadata": {"guidellm_version": "0.5.0"}, "benchmarks": )" + benchmarks + "}",
        "g.json");
    ASSERT_FALSE(files) << benchmarks;
    for (const std::string& word : wanted)
      EXPECT_NE(files.error().text().find(word), std::string::npos) << files.error().text();
  };
  refused("[3]", {"g.json: row 1", "metrics"});
  refused(R"([{"metrics": {"request_latency": {"successful": {"mean": "a"}}}}])",
          {"row 1", "request_latency", "mean"});
  refused(R"([{"metrics": {}}, {"metrics": {"request_totals": {"successful": "all"}}}])",
          {"row 2", "request_totals", "successful"});
  const auto none = parse_bench_text(
      R"({"metadata": {"guidellm_version": "0.5.0"}, "benchmarks": []})", "g.json");
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->results.empty());
}

}  // namespace
}  // namespace perjoule
