#include "workload/aiperf.h"

#include <gtest/gtest.h>

#include "workload/bench_files.h"

namespace perjoule {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::string metric(const std::string& name, const std::string& unit, const std::string& figures) {
  return "\"" + name + R"(": {"unit": ")" + unit + "\", " + figures + "}";
}

std::string newer(const std::string& more = "") {
  return R"({"schema_version": "1.0", "aiperf_version": "0.3.0", )" +
         metric("request_throughput", "requests/sec", R"("avg": 2.0)") + ", " +
         metric("request_latency", "ms", R"("avg": 900.0, "p50": 800.0, "p99": 1500.0)") + ", " +
         metric("request_count", "requests", R"("avg": 20.0)") + ", " +
         metric("time_to_first_token", "ms", R"("avg": 50.0, "p95": 70.0)") + ", " +
         metric("inter_token_latency", "ms", R"("avg": 9.0, "p50": 8.5)") + ", " +
         metric("inter_chunk_latency", "ms", R"("avg": 9.1)") + ", " +
         metric("output_token_throughput", "tokens/sec", R"("avg": 200.0)") + ", " +
         metric("output_sequence_length", "tokens", R"("avg": 100.0)") + ", " +
         metric("input_sequence_length", "tokens", R"("avg": 550.0)") + ", " +
         metric("total_osl", "tokens", R"("avg": 2000.0)") + ", " +
         metric("benchmark_duration", "sec", R"("avg": 10.0)") +
         R"(, "input_config": {"endpoint": {"model_names": ["org/a"]},
                              "loadgen": {"concurrency": 8}},
            "was_cancelled": false, "error_summary": [],
            "start_time": "2025-10-07T13:16:25.250000", "end_time": "2025-10-07T13:16:35.250000")" +
         more + "}";
}

Result<BenchFiles> read(const std::string& text) {
  return parse_bench_text(text, "a.json", Seconds(0));
}

TEST(AiPerf, ItsMetricsAreReadByTheirDefinition) {
  const auto files = read(newer());
  ASSERT_TRUE(files) << files.error().text();
  const BenchResult& r = files->results[0];
  EXPECT_EQ(r.benchmark, kAiPerf);
  EXPECT_EQ(r.model.id, "org/a");
  EXPECT_EQ(r.load.concurrency, 8);
  EXPECT_FALSE(r.load.asked_per_s);
  EXPECT_EQ(r.load.completed, 20);
  EXPECT_EQ(r.totals.output_tokens, 2000);
  EXPECT_EQ(r.totals.input_tokens, 11000);
  EXPECT_EQ(r.totals.responses, 20);
  // Its inter-token latency is by request: time per output token here.
  EXPECT_DOUBLE_EQ(r.latency.tpot.p50->value(), 0.0085);
  EXPECT_DOUBLE_EQ(r.latency.itl.mean->value(), 0.0091);
  EXPECT_DOUBLE_EQ(r.latency.ttft.p95->value(), 0.07);
  EXPECT_DOUBLE_EQ(r.latency.e2el.p99->value(), 1.5);
  EXPECT_EQ(r.totals.duration, Seconds(10));
  EXPECT_TRUE(r.validity.empty());
}

TEST(AiPerf, SettingsOfTheSchemaWithPhases) {
  const auto with = [](const std::string& load) {
    std::string text = newer();
    const std::size_t at = text.find("\"input_config\": ");
    const std::size_t end = text.find("\"was_cancelled\"");
    text.replace(at, end - at,
                 R"("input_config": {"models": {"items": [{"name": "org/n"}]},
        "endpoint": {"type": "chat"}, "phases": [{"name": "warmup", "exclude_from_results": true,
        "concurrency": 99, "rate": 99.0}, )" +
                     load + "]}, ");
    const auto files = read(text);
    EXPECT_TRUE(files) << files.error().text();
    return files->results[0];
  };
  const BenchResult closed = with(R"({"type": "concurrency", "requests": 96, "concurrency": 16})");
  EXPECT_EQ(closed.model.id, "org/n");
  EXPECT_EQ(closed.load.concurrency, 16);
  EXPECT_FALSE(closed.load.asked_per_s);
  const BenchResult open = with(R"({"type": "poisson", "requests": 96, "rate": 0.8})");
  EXPECT_EQ(open.load.asked_per_s, 0.8);
  EXPECT_EQ(open.load.burstiness, 1);
  EXPECT_FALSE(open.load.concurrency);
}

TEST(AiPerf, TheWindowIsOfStampsInLocalTime) {
  const auto files = read(newer());
  ASSERT_TRUE(files);
  const auto& window = files->results[0].window;
  ASSERT_TRUE(window);
  EXPECT_EQ(window->begin_unix_ns, 1'759'842'985 * kSecond + kSecond / 4);
  EXPECT_EQ(window->duration(), Seconds(10));
  const auto ahead = parse_bench_text(newer(), "a.json", Seconds(3600));
  ASSERT_TRUE(ahead);
  EXPECT_EQ(window->begin_unix_ns - ahead->results[0].window->begin_unix_ns, 3600 * kSecond);
}

TEST(AiPerf, StampsOfRequestsNeedNoZone) {
  const auto files = parse_bench_text(
      newer(", " + metric("min_request_timestamp", "ns", R"("avg": 1759842986000000000)") + ", " +
            metric("max_response_timestamp", "ns", R"("avg": 1759842995000000000)")),
      "a.json", Seconds(3600));
  ASSERT_TRUE(files) << files.error().text();
  EXPECT_EQ(files->results[0].window->begin_unix_ns, 1'759'842'986 * kSecond);
  EXPECT_EQ(files->results[0].window->duration(), Seconds(9));
}

TEST(AiPerf, FailuresAndCancellationSpeakAgainstIt) {
  std::string text = newer(", " + metric("error_request_count", "requests", R"("avg": 5)"));
  text.replace(text.find("false"), 5, "true");
  const auto files = read(text);
  ASSERT_TRUE(files);
  EXPECT_EQ(files->results[0].load.requests, 25);
  ASSERT_EQ(files->results[0].validity.size(), 2U);
  EXPECT_EQ(files->results[0].validity[0], "5 of 25 requests failed");
  EXPECT_EQ(files->results[0].validity[1], "the run was cancelled");
}

TEST(AiPerf, ARunOfFailuresAloneHasNoFigures) {
  const auto files = read(R"({"aiperf_version": "0.3.0", "input_config": {}, "error_request_count":
      {"unit": "requests", "avg": 3}})");
  ASSERT_TRUE(files) << files.error().text();
  const BenchResult& r = files->results[0];
  EXPECT_EQ(r.model.id, "not stated");
  EXPECT_FALSE(r.load.completed);
  EXPECT_FALSE(r.totals.responses);
  EXPECT_FALSE(r.window);
  EXPECT_FALSE(r.latency.ttft.mean);
}

TEST(AiPerf, ReasoningCountsAsOutput) {
  std::string text = newer(", " + metric("total_output_tokens", "tokens", R"("avg": 700)") + ", " +
                           metric("total_reasoning_tokens", "tokens", R"("avg": 1300)"));
  text.replace(text.find("total_osl"), 9, "other_osl");
  const auto files = read(text);
  ASSERT_TRUE(files);
  EXPECT_EQ(files->results[0].totals.output_tokens, 2000);
}

TEST(GenAiPerf, HasNoTimeOfDay) {
  const auto files = read("{" + metric("request_throughput", "requests/sec", R"("avg": 4.0)") +
                          ", " + metric("request_latency", "ms", R"("avg": 0)") + ", " +
                          metric("request_count", "count", R"("avg": 40)") + ", " +
                          metric("output_sequence_length", "tokens", R"("avg": 10.5)") +
                          R"(, "input_config": {"model": ["gpt2"], "concurrency": 2}})");
  ASSERT_TRUE(files) << files.error().text();
  const BenchResult& r = files->results[0];
  EXPECT_EQ(r.benchmark, kGenAiPerf);
  EXPECT_EQ(r.model.id, "gpt2");
  EXPECT_FALSE(r.window);
  // As long as so many requests take at that throughput.
  EXPECT_EQ(r.totals.duration, Seconds(10));
  EXPECT_EQ(r.totals.output_tokens, 420);
  EXPECT_FALSE(r.latency.e2el.mean);
  EXPECT_TRUE(r.validity.empty());
}

TEST(AiPerf, MalformedMembersAreNamed) {
  const auto refused = [](const std::string& text, const std::string& member) {
    const auto files = read(text);
    ASSERT_FALSE(files) << member;
    EXPECT_NE(files.error().message.find("a.json"), std::string::npos);
    EXPECT_NE(files.error().message.find(member), std::string::npos) << files.error().message;
  };
  refused(newer(", " + metric("total_isl", "tokens", R"("avg": "many")")), "total_isl");
  refused(newer(", " + metric("request_latency", "fortnights", R"("avg": 1)")), "fortnights");
  refused(newer(", " + metric("request_count", "requests", R"("avg": -1)")), "request_count");
  refused(newer(R"(, "end_time": "2025-10-07T13:00:00")"), "end_time");
  refused(newer(R"(, "end_time": "soon")"), "end_time");
  refused(newer(R"(, "start_time": 3)"), "start_time");
}

}  // namespace
}  // namespace perjoule
